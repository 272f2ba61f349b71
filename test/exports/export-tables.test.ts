import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { parseDecimal, textOfDecimal } from '#core/domain/decimal'
import type { Resource, Row, Selection } from '#core/model/resource'
import { checkpoints } from '#core/resources/checkpoints/description'
import { fundingPeriods } from '#core/resources/funding-periods/description'
import { liquidityProviders } from '#core/resources/liquidity-providers/description'
import { RESOURCES } from '#core/resources/resources'
import { exportTableOf } from '#service/formats/columns'
import type { ExportedRow } from '#service/formats/export-rows'
import { parquetOf } from '#service/formats/parquet'
import { TEXT_FORMATS, type TextFormatName } from '#service/formats/text-formats'
import { RESOURCE_ROWS } from '../fixtures/resources/resource-rows.ts'
import { ended, startProgram } from '../fixtures/services/program.ts'
import { PYTHON, skipsWithoutPython } from '../fixtures/services/python.ts'
import { fileWith } from '../fixtures/stores/stores.ts'

const READ_PARQUET = join(import.meta.dirname, '../clients/read_parquet.py')
async function* chunkOf(rows: readonly Row[], selection: Selection): AsyncGenerator<ExportedRow[]> {
  yield rows.map((row, index) => ({ row, cursor: `c${index}`, selection }))
}

function asText(format: TextFormatName, resource: Resource, rows: Row[], selection: Selection) {
  const { head, line } = TEXT_FORMATS[format].writerOf(resource)
  return head + rows.map((row, index) => line({ row, cursor: `c${index}`, selection })).join('')
}

type ReadRow = Record<string, string | null>

/** The types and rows of a Parquet file, as DuckDB reads them. */
async function readParquet(t: TestContext, bytes: AsyncIterable<Uint8Array>) {
  const file = fileWith(t, Buffer.concat(await Array.fromAsync(bytes)), 'rows.parquet')
  const { stdout } = await ended(startProgram(t, PYTHON, [READ_PARQUET, file]))
  return JSON.parse(stdout) as { types: Record<string, string>; rows: ReadRow[] }
}

const csvOf = (value: string | null) => {
  if (value === null) return ''
  return /^$|[",]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value
}

describe('the table of a resource', () => {
  test('is tested here for every resource', () => {
    assert.deepEqual(
      RESOURCE_ROWS.map(({ resource }) => resource.name),
      RESOURCES.map(({ name }) => name),
    )
  })

  for (const { resource, selection, rows, table } of RESOURCE_ROWS) {
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

    test(`${resource.name}: is CSV with nothing between the commas for a missing value`, async () => {
      const numbers = exportTableOf(resource).columns.filter(({ decimal }) => decimal !== undefined)
      const isEmptyNumber = (name: string, value: string | null) =>
        value === '' && numbers.some((column) => column.name === name)
      const lines = [
        [...Object.keys(table[0]!), 'cursor'],
        ...table.map((values, index) => [
          ...Object.entries(values).map(([name, value]) => csvOf(isEmptyNumber(name, value) ? null : value)),
          `c${index}`,
        ]),
      ]
      assert.equal(
        asText('csv', resource, rows, selection),
        lines.map((line) => `${line.join(',')}\r\n`).join(''),
      )
    })

    for (const asText of [false, true]) {
      test(`${resource.name}: is Parquet with exact types and nulls${asText ? ', numbers as text' : ''}`, async (t) => {
        if (skipsWithoutPython(t, 'duckdb')) return
        const { types, rows: found } = await readParquet(
          t,
          parquetOf(
            chunkOf(rows, selection),
            { resource, times: 'local', ...(asText ? { numbers: 'text' } : {}) },
            {},
          ),
        )
        const columns = new Map(exportTableOf(resource).columns.map((column) => [column.name, column]))
        const exact = (name: string, value: string | null) => {
          const isDecimal = !asText && columns.get(name)!.decimal !== undefined
          if (value === null || !isDecimal) return value
          // An empty text is no number.
          return value === '' ? null : textOfDecimal(parseDecimal(value)!)
        }
        const exactRows = (all: ReadRow[]) =>
          all.map((row) => Object.entries(row).map(([name, value]) => [name, exact(name, value)]))
        assert.deepEqual(exactRows(found), exactRows(table))
        const integers =
          'atBlock endBlock epochSeq seq fundingPeriodSeq epoch scheduleEvery slaPerformanceHysteresisEpochs decimalPlaces positionDecimalPlaces settlementAssetDecimals size'
        const times = 'timestamp start expiry end scheduleInitial'
        const has = (names: string, name: string) => names.split(' ').includes(name)
        for (const [name, type] of Object.entries(types)) {
          const { decimal } = columns.get(name)!
          const expected =
            !asText && decimal !== undefined
              ? `DECIMAL(38,${decimal.scale})`
              : has(integers, name)
                ? 'BIGINT'
                : has(times, name)
                  ? 'TIMESTAMP_NS'
                  : name === 'openingAuction'
                    ? 'BOOLEAN'
                    : 'VARCHAR'
          assert.equal(type, expected, name)
        }
      })
    }
  }

  test('has numbers of providers as decimals, amounts in whole smallest units', async (t) => {
    if (skipsWithoutPython(t, 'duckdb')) return
    const { resource, rows } = RESOURCE_ROWS.find(({ resource }) => resource === liquidityProviders)!
    const [market, party, feeShare, sla] = rows[0]!
    const valuations = [
      ['3905000000000000000000000.4999999999999999', '3905000000000000000000000'],
      ['373103656914.9455585799430483', '373103656915'],
      ['0.5', '1'],
      ['-0.5', '-1'],
      ['-0.49', '0'],
      ['', null],
    ] as const
    const exported = valuations.map(([averageEntryValuation]) => [
      market!,
      party!,
      JSON.stringify({ ...JSON.parse(feeShare as string), averageEntryValuation }),
      sla!,
    ])
    const { types, rows: found } = await readParquet(t, parquetOf(chunkOf(exported, {}), { resource }, {}))
    assert.deepEqual(
      found.map((row) => row.averageEntryValuation),
      valuations.map(([, expected]) => expected),
    )
    const withDigits = (digits: number) =>
      Object.keys(types)
        .filter((name) => types[name] === `DECIMAL(38,${digits})`)
        .join(' ')
    assert.equal(
      withDigits(0),
      'averageEntryValuation virtualStake requiredLiquidity notionalVolumeBuys notionalVolumeSells',
    )
    assert.equal(
      withDigits(16),
      'equityLikeShare averageScore currentEpochFractionOfTimeOnBook lastEpochFractionOfTimeOnBook',
    )
    assert.equal(withDigits(20), 'lastEpochFeePenalty lastEpochBondPenalty')
    for (const [name, text] of [
      ['averageScore', '0.12345678901234567'],
      ['averageScore', 'none'],
      ['virtualStake', `1${'0'.repeat(38)}`],
    ] as const) {
      const row = [market!, party!, JSON.stringify({ ...JSON.parse(feeShare as string), [name]: text }), sla!]
      const bytes = parquetOf(chunkOf([row], {}), { resource }, {})
      await assert.rejects(Array.fromAsync(bytes), {
        name: 'ExportError',
        message: new RegExp(
          `liquidity providers: ${name} is "${text}" in the row market_id ${market}, party_id`,
        ),
      })
    }
  })

  test('is a file of its columns alone if it is empty', async () => {
    assert.equal(asText('ndjson', fundingPeriods, [], {}), '')
    assert.equal(
      asText('csv', fundingPeriods, [], {}),
      'marketId,seq,start,end,fundingPayment,fundingRate,internalTwap,externalTwap,cursor\r\n',
    )
  })

  test('has times in CSV as UTC dates if requested, to the nanosecond', () => {
    const { rows, selection } = RESOURCE_ROWS.find(({ resource }) => resource === fundingPeriods)!
    const { line } = TEXT_FORMATS.csv.writerOf(fundingPeriods, 'iso')
    const [ended, running] = rows.map((row) => line({ row, cursor: 'c', selection }).split(','))
    assert.deepEqual(ended!.slice(2, 4), ['2023-10-05T10:14:18.000000000Z', '2023-10-05T10:15:03.000000001Z'])
    assert.deepEqual(running!.slice(2, 4), ['2023-10-05T10:15:03.000000000Z', ''])
    const before = line({ row: ['-1', '0', null, null, null, null, null], cursor: 'c', selection })
    assert.equal(before.split(',')[2], '1969-12-31T23:59:59.999999999Z')
  })

  test('is refused if two columns would have the same name', () => {
    const [field] = checkpoints.fields
    const twice = { ...checkpoints, fields: [...checkpoints.fields, { ...field!, name: 'cursor' }] }
    assert.throws(() => exportTableOf(twice), /checkpoints: two columns of its export have the same name/)
  })
})
