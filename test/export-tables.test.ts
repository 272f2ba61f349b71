import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { exportTableOf } from '../src/export/columns.ts'
import type { ExportedRow } from '../src/export/export-rows.ts'
import { parquetOf } from '../src/export/parquet.ts'
import { TEXT_FORMATS, type TextFormatName, textOf } from '../src/export/text-formats.ts'
import { checkpoints } from '../src/resources/checkpoints.ts'
import { fundingPeriodDataPoints } from '../src/resources/funding-period-data-points.ts'
import { fundingPeriods } from '../src/resources/funding-periods.ts'
import { instruments } from '../src/resources/instruments.ts'
import { liquidityProviders } from '../src/resources/liquidity-providers.ts'
import type { Resource, Row, Selection } from '../src/resources/resource.ts'
import { RESOURCES } from '../src/resources/resources.ts'
import { skip } from './fixtures/shared.ts'

const READ_PARQUET = join(import.meta.dirname, 'clients/read_parquet.py')
const MARKET = 'a9'.repeat(32)
const PARTY = 'b7'.repeat(32)

const FEE_SHARE = {
  party: PARTY,
  equityLikeShare: '0.5',
  averageEntryValuation: '',
  averageScore: '1',
  virtualStake: '20000',
}
const SLA = {
  party: PARTY,
  currentEpochFractionOfTimeOnBook: '1',
  lastEpochFractionOfTimeOnBook: '0.9',
  lastEpochFeePenalty: '0',
  lastEpochBondPenalty: '0.1',
  hysteresisPeriodFeePenalties: ['0', '0.25'],
  requiredLiquidity: '15000',
  notionalVolumeBuys: '7',
  notionalVolumeSells: '8',
}

/** Rows as a store gives them, and the same as a table: by column, a value that is not there null. */
const TABLES: {
  resource: Resource
  selection: Selection
  rows: Row[]
  table: Record<string, string | null>[]
}[] = [
  {
    resource: checkpoints,
    selection: {},
    rows: [['12', 'aa', 'bb']],
    table: [{ atBlock: '12', hash: 'aa', blockHash: 'bb' }],
  },
  {
    resource: fundingPeriodDataPoints,
    selection: { marketId: MARKET },
    rows: [['1696500903000000001', '15', 2, '1E+3', '-0.5']],
    table: [
      {
        marketId: MARKET,
        seq: '15',
        dataPointType: 'SOURCE_INTERNAL',
        price: '1E+3',
        timestamp: '1696500903000000001',
        twap: '-0.5',
      },
    ],
  },
  {
    resource: fundingPeriods,
    selection: { marketId: MARKET },
    rows: [
      [
        '1696500858000000000',
        '19',
        '1696500903000000001',
        '-3360',
        '-0.0016886570296634',
        '1986202',
        '1989761',
      ],
      ['1696500903000000000', '20', null, null, null, null, null],
    ],
    table: [
      {
        marketId: MARKET,
        seq: '19',
        start: '1696500858000000000',
        end: '1696500903000000001',
        fundingPayment: '-3360',
        fundingRate: '-0.0016886570296634',
        internalTwap: '1986202',
        externalTwap: '1989761',
      },
      {
        marketId: MARKET,
        seq: '20',
        start: '1696500903000000000',
        end: null,
        fundingPayment: null,
        fundingRate: null,
        internalTwap: null,
        externalTwap: null,
      },
    ],
  },
  {
    resource: instruments,
    selection: {},
    rows: [
      [
        ...[MARKET, 'BTC/PERP', 'Bitcoin, "perpetual"', 3, '', '2', '-3', 5, 1],
        ...['c0de', 'USD', 'US Dollar', '5', '', '-0.01', '0.01', '2', null, '0.5'],
      ],
      [
        ...[PARTY, '', '', 1, 'USD', '0', '0', 10, 8],
        ...['VOTE', null, null, null, null, null, null, null, null, null],
      ],
      [
        ...['cc'.repeat(32), '', '', 0, '', '0', '0', 0, 0],
        ...[null, null, null, null, null, null, null, null, null, null],
      ],
    ],
    table: [
      {
        marketId: MARKET,
        code: 'BTC/PERP',
        name: 'Bitcoin, "perpetual"',
        product: 'PRODUCT_PERPETUAL',
        quoteName: '',
        decimalPlaces: '2',
        positionDecimalPlaces: '-3',
        state: 'STATE_ACTIVE',
        tradingMode: 'TRADING_MODE_CONTINUOUS',
        settlementAssetId: 'c0de',
        settlementAssetSymbol: 'USD',
        settlementAssetName: 'US Dollar',
        settlementAssetDecimals: '5',
        interestRate: '',
        clampLowerBound: '-0.01',
        clampUpperBound: '0.01',
        scalingFactor: '2',
        lowerBound: null,
        upperBound: '0.5',
      },
      {
        marketId: PARTY,
        code: '',
        name: '',
        product: 'PRODUCT_FUTURE',
        quoteName: 'USD',
        decimalPlaces: '0',
        positionDecimalPlaces: '0',
        state: 'STATE_SUSPENDED_VIA_GOVERNANCE',
        tradingMode: 'TRADING_MODE_PROTOCOL_AUTOMATED_PURCHASE_AUCTION',
        settlementAssetId: 'VOTE',
        settlementAssetSymbol: null,
        settlementAssetName: null,
        settlementAssetDecimals: null,
        interestRate: null,
        clampLowerBound: null,
        clampUpperBound: null,
        scalingFactor: null,
        lowerBound: null,
        upperBound: null,
      },
      {
        marketId: 'cc'.repeat(32),
        code: '',
        name: '',
        product: 'PRODUCT_UNSPECIFIED',
        quoteName: '',
        decimalPlaces: '0',
        positionDecimalPlaces: '0',
        state: 'STATE_UNSPECIFIED',
        tradingMode: 'TRADING_MODE_UNSPECIFIED',
        settlementAssetId: null,
        settlementAssetSymbol: null,
        settlementAssetName: null,
        settlementAssetDecimals: null,
        interestRate: null,
        clampLowerBound: null,
        clampUpperBound: null,
        scalingFactor: null,
        lowerBound: null,
        upperBound: null,
      },
    ],
  },
  {
    resource: liquidityProviders,
    selection: { marketId: MARKET },
    rows: [
      [MARKET, PARTY, JSON.stringify(FEE_SHARE), JSON.stringify(SLA)],
      [MARKET, 'network', JSON.stringify(FEE_SHARE), null],
    ],
    table: [
      {
        partyId: PARTY,
        marketId: MARKET,
        equityLikeShare: '0.5',
        averageEntryValuation: '',
        averageScore: '1',
        virtualStake: '20000',
        currentEpochFractionOfTimeOnBook: '1',
        lastEpochFractionOfTimeOnBook: '0.9',
        lastEpochFeePenalty: '0',
        lastEpochBondPenalty: '0.1',
        hysteresisPeriodFeePenalties: '0,0.25',
        requiredLiquidity: '15000',
        notionalVolumeBuys: '7',
        notionalVolumeSells: '8',
      },
      {
        partyId: 'network',
        marketId: MARKET,
        equityLikeShare: '0.5',
        averageEntryValuation: '',
        averageScore: '1',
        virtualStake: '20000',
        currentEpochFractionOfTimeOnBook: null,
        lastEpochFractionOfTimeOnBook: null,
        lastEpochFeePenalty: null,
        lastEpochBondPenalty: null,
        hysteresisPeriodFeePenalties: null,
        requiredLiquidity: null,
        notionalVolumeBuys: null,
        notionalVolumeSells: null,
      },
    ],
  },
]

async function* chunkOf(rows: readonly Row[]): AsyncGenerator<ExportedRow[]> {
  yield rows.map((row, index) => ({ row, cursor: `c${index}` }))
}

async function asText(format: TextFormatName, resource: Resource, rows: Row[], selection: Selection) {
  let text = ''
  for await (const part of textOf(chunkOf(rows), TEXT_FORMATS[format], resource, selection)) text += part
  return text
}

const csvOf = (value: string | null) => {
  if (value === null) return ''
  return /^$|[",]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value
}

describe('the table of a resource', () => {
  test('is tried here for every resource', () => {
    assert.deepEqual(
      TABLES.map(({ resource }) => resource.name),
      RESOURCES.map(({ name }) => name),
    )
  })

  for (const { resource, selection, rows, table } of TABLES) {
    test(`${resource.name}: has a column for every field, in the order of earlier versions`, () => {
      const { columns, cells } = exportTableOf(resource)
      for (const [index, row] of rows.entries()) {
        const found = cells(row, selection).map((value, at) => [columns[at]!.name, value])
        assert.deepEqual(found, Object.entries(table[index]!))
      }
      for (const [at, { name, nullable }] of columns.entries()) {
        if (!nullable)
          assert.ok(
            rows.every((row) => cells(row, selection)[at] !== null),
            name,
          )
      }
    })

    test(`${resource.name}: is CSV with nothing between the commas where a value is not there`, async () => {
      const lines = [
        [...Object.keys(table[0]!), 'cursor'],
        ...table.map((values, index) => [...Object.values(values).map(csvOf), `c${index}`]),
      ]
      assert.equal(
        await asText('csv', resource, rows, selection),
        lines.map((line) => `${line.join(',')}\r\n`).join(''),
      )
    })

    test(`${resource.name}: is ndjson of the nodes`, async () => {
      const text = await asText('ndjson', resource, rows, selection)
      const lines = rows.map((row, index) => {
        const node = JSON.parse(resource.node(row, selection)) as object
        return `${JSON.stringify({ ...node, cursor: `c${index}` })}\n`
      })
      assert.equal(text, lines.join(''))
    })

    test(`${resource.name}: is Parquet with exact types and null where a value is not there`, async (t) => {
      const python = process.env.LYRA_PYTHON ?? 'python3'
      if (spawnSync(python, ['-c', 'import duckdb']).status !== 0) {
        return skip(t, 'DuckDB for Python is not there; LYRA_PYTHON may name a Python that has it')
      }
      const parts: Uint8Array[] = []
      for await (const part of parquetOf(chunkOf(rows), resource, selection)) parts.push(part)
      const folder = mkdtempSync(join(tmpdir(), 'lyra-'))
      t.after(() => rmSync(folder, { recursive: true }))
      const file = join(folder, 'rows.parquet')
      writeFileSync(file, Buffer.concat(parts))
      const read = spawnSync(python, [READ_PARQUET, file], { encoding: 'utf8' })
      assert.equal(read.status, 0, read.stderr)
      const { types, rows: found } = JSON.parse(read.stdout) as {
        types: Record<string, string>
        rows: object[]
      }
      assert.deepEqual(found, table)
      const integers = ['atBlock', 'seq', 'decimalPlaces', 'positionDecimalPlaces', 'settlementAssetDecimals']
      const times = ['timestamp', 'start', 'end']
      for (const [name, type] of Object.entries(types)) {
        const expected = integers.includes(name)
          ? 'BIGINT'
          : times.includes(name)
            ? 'TIMESTAMP_NS'
            : 'VARCHAR'
        assert.equal(type, expected, name)
      }
    })
  }

  test('an empty one is a file of its columns alone', async () => {
    assert.equal(await asText('ndjson', fundingPeriods, [], {}), '')
    assert.equal(
      await asText('csv', fundingPeriods, [], {}),
      'marketId,seq,start,end,fundingPayment,fundingRate,internalTwap,externalTwap,cursor\r\n',
    )
  })

  test('is refused where two columns would have the same name', () => {
    const [field] = checkpoints.fields
    const twice = { ...checkpoints, fields: [...checkpoints.fields, { ...field!, name: 'cursor' }] }
    assert.throws(() => exportTableOf(twice), /checkpoints: two columns of its export have the same name/)
  })
})
