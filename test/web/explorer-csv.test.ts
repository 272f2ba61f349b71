import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { csvOf } from '../../web/src/parts/csv/csv.ts'
import { downloadBy, explorerTest } from '../fixtures/explorer/explorer.ts'
import { clientOf, visit } from '../fixtures/explorer/render.ts'
import { runsOf } from '../fixtures/sampling.ts'
import { serveFile } from '../fixtures/services/service.ts'
import { MONTH } from '../fixtures/shared.ts'
import { STORE_KINDS } from '../fixtures/stores/stores.ts'

const { CsvRows, ReadableRows } = await import('../../web/src/parts/csv/readable-csv.ts')
const { instruments } = await import('../../web/src/service/instruments.ts')

const PARTY = '3e6558d0cb97f9bd3e8a25ae442f7ef7d95de26e56b6fd69df10be97e8a21563'

/** The rows of a CSV file. */
const rowsIn = (bytes: Buffer) => new CsvRows().push(bytes.toString())

describe('CSV files of the explorer', () => {
  test('are read in any pieces', () => {
    const characters = fc.constantFrom('a', '"', ',', '\r', '\n', ' ', 'é', '€')
    const row = fc.array(fc.string({ unit: characters }), { minLength: 2, maxLength: 3 })
    fc.assert(
      fc.property(fc.array(row, { maxLength: 4 }), fc.integer({ min: 1, max: 9 }), (rows, size) => {
        const text = rows.map((cells) => csvOf(cells, [])).join('')
        const reader = new CsvRows()
        const found: string[][] = []
        for (let at = 0; at < text.length; at += size) found.push(...reader.push(text.slice(at, at + size)))
        assert.deepEqual(found, rows)
      }),
      { numRuns: runsOf('call') },
    )
  })

  test('have names, whole units and the asset, and leave as it is what is not known', async () => {
    const served = clientOf(await serveFile(STORE_KINDS[0]!, MONTH))
    await visit(served, '/')
    const markets = (await served.client.instrumentsPage()).rows.map(({ node }) => node)
    const { marketId } = markets.find(({ code }) => code === 'ETH/USDT')!
    const payments = new ReadableRows(null)
    assert.deepEqual(payments.head(['partyId', 'marketId', 'seq', 'amount', 'lossAmount', 'cursor']), [
      'market',
      'partyId',
      'marketId',
      'seq',
      'amount',
      'lossAmount',
      'asset',
    ])
    const cells = (id: string) => payments.row([PARTY, id, '91', '-88165765', '0', 'y17'])
    assert.deepEqual(cells(marketId), ['ETH/USDT', PARTY, marketId, '91', '-88.165765', '0', 'USDT'])
    const unknown = '1'.repeat(64)
    assert.deepEqual(cells(unknown), ['11111111…111111', PARTY, unknown, '91', '-88165765', '0', ''])
    // Of one market; a mark price has the decimals of the market.
    const series = new ReadableRows(marketId)
    assert.deepEqual(series.head(['start', 'priceFirst', 'twapLast', 'marketDataMarkPrice', 'sumOfRates']), [
      'market',
      'start',
      'priceFirst',
      'twapLast',
      'marketDataMarkPrice',
      'sumOfRates',
      'asset',
    ])
    assert.deepEqual(series.row(['t', '2505470000', '1', '293669', '0.0005']), [
      'ETH/USDT',
      't',
      '2505.47',
      '0.000001',
      '2936.69',
      '0.0005',
      'USDT',
    ])
    const sizes = new ReadableRows(null)
    sizes.head(['marketId', 'marketDataOpenInterest'])
    assert.deepEqual(sizes.row([marketId, '737100']), ['ETH/USDT', marketId, '737.1', 'USDT'])
    assert.deepEqual(sizes.row([unknown, '737100']), ['11111111…111111', unknown, '737100', ''])
    instruments.value = new Map([
      [marketId, { ...markets.find((one) => one.marketId === marketId)!, positionDecimalPlaces: '-2' }],
    ])
    assert.deepEqual(sizes.row([marketId, '7']), ['ETH/USDT', marketId, '700', 'USDT'])
    // Nothing of a market.
    const checkpoints = new ReadableRows(null)
    assert.deepEqual(checkpoints.head(['atBlock', 'hash', 'cursor']), ['atBlock', 'hash'])
    assert.deepEqual(checkpoints.row(['7', 'ab', 'c7_ab']), ['7', 'ab'])
  })

  test('have names that a spreadsheet would run as texts, and numbers as they are', async () => {
    const served = clientOf(await serveFile(STORE_KINDS[0]!, MONTH))
    await visit(served, '/')
    const [market] = instruments.value!.values()
    for (const [code, symbol, ...cells] of [
      [
        '=HYPERLINK("http://evil.example","ETH")',
        '+cmd',
        `'=HYPERLINK("http://evil.example","ETH")`,
        "'+cmd",
      ],
      ['@sum(1)', '-1+x', "'@sum(1)", "'-1+x"],
      ['ETH/USDT', '5', 'ETH/USDT', '5'],
    ] as const) {
      const { marketId } = market!
      const settlementAsset = { ...market!.settlementAsset!, symbol }
      instruments.value = new Map([[marketId, { ...market!, code, settlementAsset }]])
      const payments = new ReadableRows(null)
      payments.head(['marketId', 'amount'])
      assert.deepEqual(payments.row([marketId, '-88165765']), [cells[0], marketId, '-88.165765', cells[1]])
    }
    assert.equal(csvOf(['a;=1', 'b\t=1', '=1'], []), '"a;=1","b\t=1",=1\r\n')
  })

  explorerTest('have the rows of the API, whose exact file is one click away', async ({ openAt }) => {
    const page = await openAt(await serveFile(STORE_KINDS[0]!, MONTH))
    await page.goto(`/?view=party&party=${PARTY}&span=7d`)
    const panel = page.locator('section[aria-labelledby="payments-title"]')
    const { name, bytes } = await downloadBy(panel.getByRole('button', { name: 'CSV' }))
    await panel.locator('summary').last().click()
    const exact = await downloadBy(panel.getByRole('link', { name: 'exact CSV' }))
    assert.equal(name, exact.name)
    const [rows, sent] = [rowsIn(bytes), rowsIn(exact.bytes)]
    assert.equal(rows.length, sent.length)
    assert.ok(rows.length > 100)
    const cellOf = (all: string[][], row: number, column: string) => all[row]![all[0]!.indexOf(column)]!
    for (let row = 1; row < rows.length; row++) {
      assert.equal(
        Number(cellOf(rows, row, 'amount')),
        Number(cellOf(sent, row, 'amount')) / 1e6,
        `row ${row}`,
      )
      assert.equal(
        Date.parse(cellOf(rows, row, 'timestamp')),
        Number(BigInt(cellOf(sent, row, 'timestamp')) / 1_000_000n),
      )
      assert.match(cellOf(rows, row, 'market'), /^\w+\/USDT$/)
      assert.equal(cellOf(rows, row, 'asset'), 'USDT')
    }
  })
})
