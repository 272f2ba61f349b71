import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertSays } from '../fixtures/assert-says.ts'
import { createRandom } from '../fixtures/random.ts'
import { getJson, getPage, send } from '../fixtures/requests/http.ts'
import { serveFile } from '../fixtures/services/service.ts'
import { NAMED_SAMPLE, recorded } from '../fixtures/shared.ts'
import { ANY_STORE_KIND, describeOn } from '../fixtures/stores/stores.ts'

type Row = Record<string, string | null>
type Summary = { first: string; last: string; minimum: string; maximum: string }
type Series = {
  bucketNanoseconds: string
  sources: {
    dataPointType: string
    buckets: { start: string; seq: string; count: string; price: Summary; twap: Summary }[]
  }[]
}

/** The rows of a CSV file by the names of their columns; a cell that is not there is null. */
function rowsOf(text: string): { columns: string[]; rows: Row[] } {
  const [head, ...lines] = text.split('\r\n').slice(0, -1).map(cellsOf)
  const columns = head!.map((name) => name!)
  const rows = lines.map((cells) => {
    assert.equal(cells.length, columns.length)
    return Object.fromEntries(columns.map((name, at) => [name, cells[at]!]))
  })
  return { columns, rows }
}

function cellsOf(line: string): (string | null)[] {
  return [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^",]*))/g)].map(([, quoted, plain]) =>
    quoted === undefined ? plain || null : quoted.replaceAll('""', '"'),
  )
}

/** A name after that of the object that it is in. */
const within = (outer: string, name: string) => `${outer}${name[0]!.toUpperCase()}${name.slice(1)}`

/** The values of a node, each by the name of its column; its market is said once. */
function flat(node: Record<string, unknown> | null, outer: string): Row {
  const values = Object.entries(node ?? {}).flatMap(([name, value]): [string, string | null][] => {
    if (name === 'marketId') return []
    const column = within(outer, name)
    return typeof value === 'object' && value !== null
      ? Object.entries(flat(value as Record<string, unknown>, column))
      : [[column, value as string | null]]
  })
  return Object.fromEntries(values)
}

/** The same values, without those that are not there. */
const given = (row: Row) => Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null))

async function fileOf(base: string, target: string, name: string) {
  const { status, text, headers } = await send(base, target)
  assert.equal(status, 200, text)
  assert.equal(headers['content-disposition'], `attachment; filename="${name}.csv"`)
  return rowsOf(text)
}

describeOn(ANY_STORE_KIND, 'A CSV file of a report', (kind) => {
  test('has a row for each bucket of a series, of any source and interval', async () => {
    const base = await serveFile(kind, NAMED_SAMPLE)
    const { edges } = await getPage(base, '/api/v2/instruments')
    const random = createRandom(1)
    let found = 0
    for (const query of [
      '',
      'buckets=7',
      'interval=1m',
      'source=SOURCE_INTERNAL',
      'dateRange.endTimestamp=0',
    ]) {
      const marketId = random.pick(edges).node.marketId
      const target = `/api/v2/series/funding-period-data-points/${marketId}?${query}`
      const { series } = await getJson<{ series: Series }>(base, target)
      const { columns, rows } = await fileOf(base, `${target}&format=csv`, 'series')
      const summary = (of: string) => ['First', 'Last', 'Minimum', 'Maximum'].map((name) => `${of}${name}`)
      assert.deepEqual(columns, [
        'dataPointType',
        'start',
        'end',
        'seq',
        'count',
        ...summary('price'),
        ...summary('twap'),
      ])
      const length = BigInt(series.bucketNanoseconds)
      const expected = series.sources.flatMap(({ dataPointType, buckets }) =>
        buckets.map(({ price, twap, ...bucket }) => ({
          dataPointType,
          ...bucket,
          end: String(BigInt(bucket.start) + length),
          ...flat(price, 'price'),
          ...flat(twap, 'twap'),
        })),
      )
      assert.deepEqual(rows, expected, target)
      found += rows.length
    }
    assert.ok(found > 20)
  })

  test('has a row for each market of the summaries, whose parts are columns', async () => {
    const base = await serveFile(kind, recorded('perps-long-named'))
    const path = '/api/v2/market-summaries'
    const instruments = rowsOf((await send(base, '/api/v2/export/instruments?format=csv')).text).rows
    const { edges } = await getPage(base, path)
    const { rows } = await fileOf(base, `${path}?format=csv`, 'marketSummaries')
    const seen = new Set<string>()
    const expected = edges.map(({ node: { marketId, providers, instrument, ...parts } }) => {
      // Its nested fields are columns as in its own export.
      const exported = instruments.find((row) => row.marketId === marketId) ?? {}
      const { instrumentCursor: _, ...named } = flat(exported, 'instrument')
      assert.equal(instrument === null, Object.keys(named).length === 0)
      for (const [part, node] of Object.entries(parts)) if (node !== null) seen.add(part)
      const others = Object.entries(parts).map(([part, node]) => flat(node as Row | null, part))
      return given(Object.assign({ marketId, providers }, named, ...others))
    })
    assert.deepEqual(rows.map(given), expected)
    for (const part of ['runningPeriod', 'lastPaidPeriod', 'estimate', 'lastInternalPoint', 'marketData'])
      assert.ok(seen.has(part), part)
    const market = String(edges[1]!.node.marketId)
    const one = await fileOf(base, `${path}?format=csv&marketId=${market}&times=iso`, 'marketSummaries')
    assert.deepEqual(one.rows.length, 1)
    assert.match(one.rows[0]!.marketDataTimestamp!, /^20\S+Z$/)
  })

  test('has the estimate of a market, or no row', async () => {
    const base = await serveFile(kind, recorded('perps-long-named'))
    const { edges } = await getPage(base, '/api/v2/market-summaries')
    let found = 0
    for (const marketId of [...edges.map(({ node }) => node.marketId), 'f'.repeat(64)]) {
      const target = `/api/v2/funding-estimates/${marketId}`
      const { fundingEstimate } = await getJson<{ fundingEstimate: Row | null }>(base, target)
      const { columns, rows } = await fileOf(base, `${target}?format=csv`, 'fundingEstimate')
      assert.deepEqual(rows, fundingEstimate === null ? [] : [fundingEstimate])
      assert.equal(columns.length, 8)
      found += rows.length
    }
    assert.equal(found, edges.length)
  })

  test('is refused by name if there is none', async () => {
    const base = await serveFile(kind, NAMED_SAMPLE)
    for (const path of ['/api/v2/coverage', `/api/v2/auctions/${'a'.repeat(64)}`]) {
      const { status, text } = await send(base, `${path}?format=csv`)
      assert.equal(status, 400)
      assertSays(text, String.raw`unknown parameter \"format\"; allowed: `)
    }
  })
})
