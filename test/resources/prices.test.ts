import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import { copyStore } from '#core/store/admin/copy-store'
import { dataPoint, fileOf, MARKET } from '../fixtures/events/event-stream.ts'
import { restoreOldStore } from '../fixtures/old-stores/old-store.ts'
import { getJson, send } from '../fixtures/requests/http.ts'
import { ingest, serve, storeOfBytes } from '../fixtures/services/service.ts'
import { assertSound } from '../fixtures/stores/check.ts'
import { assertSameDump, dumpStore } from '../fixtures/stores/dump-store.ts'
import { describeOn, openStore, SQLITE, STORE_KINDS } from '../fixtures/stores/stores.ts'

/** Prices of events: those that a database can store as integers, and those that would change in that form. */
const PRICES = [
  '0',
  '00',
  '7',
  '007',
  '-7',
  '-0',
  '+5',
  '1.',
  '.5',
  '-1.50',
  '1e5',
  '1E+05',
  '12345678901',
  '999999999999999',
  '1000000000000000',
  '9007199254740993',
  '9223372036854775807',
  '9223372036854775808',
  '-9223372036854775808',
  '1'.repeat(77),
]

const points = PRICES.map((price, index) =>
  dataPoint({
    price,
    twap: PRICES.at(-1 - index)!,
    timestamp: BigInt(index + 1) * 60_000_000_000n,
    source: 2,
  }),
)
const FILE = fileOf({ height: 2, events: points })

/** Prices and TWAPs of rows, oldest first. */
const pairs = PRICES.map((price, index) => [price, PRICES.at(-1 - index)!])

type Series = { sources: { buckets: { price: { last: string }; twap: { last: string } }[] }[] }

/** How a SQLite store stores its prices: as text or as integers. */
function heldAs(store: string): string[] {
  const database = new DatabaseSync(store, { readOnly: true })
  try {
    return database
      .prepare('select typeof(price) as type from funding_period_data_points order by timestamp')
      .all()
      .map(({ type }) => type as string)
  } finally {
    database.close()
  }
}

describeOn(STORE_KINDS, 'prices and TWAPs', (kind) => {
  test('are returned as in the events by every interface', async (t) => {
    const store = await storeOfBytes(t, kind, FILE)
    const base = await serve(t, store)
    const path = `/api/v2/funding-periods/data-points/${MARKET}?pagination.newestFirst=false`
    const page = JSON.parse((await send(base, path)).text)
    const nodes: { price: string; twap: string }[] = page.fundingPeriodDataPoints.edges.map(
      (edge: { node: unknown }) => edge.node,
    )
    assert.deepEqual(
      nodes.map(({ price, twap }) => [price, twap]),
      pairs,
    )
    const lines = (await send(base, `${path}&format=ndjson`)).text.trimEnd().split('\n')
    assert.deepEqual(
      lines.map((line) => JSON.parse(line)).map(({ price, twap }) => [price, twap]),
      pairs,
    )
    const [head, ...rows] = (await send(base, `${path}&format=csv`)).text.trimEnd().split('\r\n')
    const [price, twap] = ['price', 'twap'].map((name) => head!.split(',').indexOf(name))
    assert.deepEqual(
      rows.map((row) => row.split(',')).map((cells) => [cells[price!], cells[twap!]]),
      pairs,
    )
    // Calculated from the points themselves, and from stored buckets.
    for (const interval of ['1s', '1m']) {
      const target = `/api/v2/series/funding-period-data-points/${MARKET}?interval=${interval}`
      const { series } = await getJson<{ series: Series }>(base, target)
      assert.deepEqual(
        series.sources[0]!.buckets.map(({ price, twap }) => [price.last, twap.last]),
        pairs,
        interval,
      )
    }
    await assertSound(store)
  })

  test('are unchanged in a copy, and when their events are ingested again', async (t) => {
    const store = await storeOfBytes(t, kind, FILE)
    const first = await dumpStore(store)
    await ingest(store, FILE)
    assertSameDump(await dumpStore(store), first, 'the same file again')
    for (const other of STORE_KINDS) {
      const copy = other.create(t)
      await copyStore(openStore(store), openStore(copy))
      assertSameDump(await dumpStore(copy), first, `a copy in ${other.name}`)
    }
  })
})

describe('prices in a SQLite store', { skip: SQLITE === undefined && 'SQLite is not requested' }, () => {
  test('are integers if these read back as in the events', async (t) => {
    const store = SQLITE!.create(t)
    await ingest(store, FILE)
    const integers = PRICES.filter((price) => /^(0|[1-9]\d{0,14})$/.test(price))
    assert.ok(integers.length > 3)
    assert.deepEqual(
      heldAs(store),
      PRICES.map((price) => (integers.includes(price) ? 'integer' : 'text')),
    )
  })

  test('of an old store stay texts after migration, and become integers in a copy', async (t) => {
    const old = await restoreOldStore(t, SQLITE!)
    await openStore(old).migrate()
    assert.deepEqual(new Set(heldAs(old)), new Set(['text']))
    const dump = await dumpStore(old)
    const copy = SQLITE!.create(t)
    await copyStore(openStore(old), openStore(copy))
    assert.deepEqual(new Set(heldAs(copy)), new Set(['integer']))
    assertSameDump(await dumpStore(copy), dump, 'the copy')
  })
})
