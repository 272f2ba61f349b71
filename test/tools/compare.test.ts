import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { cutToMicrosecond } from '#core/domain/time'
import { SOURCES } from '#core/resources/funding-period-data-points/description'
import { RESOURCES } from '#core/resources/resources'
import { type Comparison, compareSides } from '#tools/compare/compare-sides'
import { openServiceSide } from '#tools/compare/service-side'
import type { Side } from '#tools/compare/side'
import { openStoreSide } from '#tools/compare/store-side'
import { assertSays } from '../fixtures/assert-says.ts'
import { partOf, readRecording } from '../fixtures/events/event-stream.ts'
import { serveWith } from '../fixtures/services/port.ts'
import { runLyra, runWell } from '../fixtures/services/program.ts'
import { ingest, pruneBefore, serve, storeOf, tryIngest } from '../fixtures/services/service.ts'
import { NAMED_SAMPLE, recorded, SAMPLE } from '../fixtures/shared.ts'
import { dumpStore } from '../fixtures/stores/dump-store.ts'
import {
  describeOn,
  openStore,
  runSql,
  STORE_KINDS,
  type StoreKind,
  sqlite,
} from '../fixtures/stores/stores.ts'

/** The sample's events of selected blocks. */
const eventsOf = (isIn: (height: number) => boolean) => partOf(NAMED_SAMPLE, isIn)

/** Compares two sides, each a store or the URL of a service. */
async function compare(...names: [string, string]): Promise<Comparison> {
  const signal = new AbortController().signal
  const open = (name: string): Promise<Side> =>
    name.startsWith('http') ? openServiceSide(name, signal) : openStoreSide(openStore(name), signal)
  const sides: Side[] = []
  try {
    for (const name of names) sides.push(await open(name))
    return await compareSides(sides[0]!, sides[1]!, { signal })
  } finally {
    for (const side of sides) await side.close()
  }
}

const twoOf = async (t: TestContext, kind: StoreKind) =>
  [await storeOf(t, kind, NAMED_SAMPLE), await storeOf(t, kind, NAMED_SAMPLE)] as const

/** The result in short for each resource: the number of equal rows, `differs`, or why it was not compared. */
const outcomes = ({ resources }: Comparison) =>
  Object.fromEntries(
    resources.map(({ resource, same, difference, notCompared }) => [
      resource,
      notCompared ?? (difference === null ? same : 'differs'),
    ]),
  )

function checkpointsAndPoints({ resources }: Comparison) {
  const partOf = (name: string) => resources.find(({ resource }) => resource === name)!
  return { checkpoints: partOf('checkpoints'), points: partOf('fundingPeriodDataPoints') }
}

/** Equal rows of the sample. */
const ALL: Record<string, number> = {
  ...Object.fromEntries(RESOURCES.map(({ name }) => [name, 0])),
  auctions: 3,
  checkpoints: 36,
  fundingPeriodDataPoints: 2_298,
  fundingPeriods: 48,
  instruments: 3,
  liquidityProviders: 9,
}

/** A change of a table, the resource that shows it, and the key and columns reported. */
const CHANGES = [
  ["update checkpoints set hash = 'ff' where at_block = 300", 'checkpoints', { at_block: '300' }, []],
  [
    `insert into funding_payments
      values ('${'a'.repeat(64)}', 'network', 7, 1696500100000000000, '1', '0', 120, 1)`,
    'fundingPayments',
    { seq: '7' },
    [],
  ],
  [
    'delete from funding_period_data_points where seq = 5 and source = 1',
    'fundingPeriodDataPoints',
    { seq: '5', source: '1' },
    [],
  ],
  [
    "update funding_period_data_points set price = price || '1' where seq = 3",
    'fundingPeriodDataPoints',
    { seq: '3' },
    ['price'],
  ],
  [
    "update funding_periods set funding_rate = '9' where seq = 7",
    'fundingPeriods',
    { seq: '7' },
    ['fundingRate'],
  ],
  ["update instruments set name = 'another'", 'instruments', {}, ['name']],
  [
    `insert into liquidity_provider_history
      values ('${'a'.repeat(64)}', 'network', 7, 1696500100000000000, '1', '0', '0', '', null, 120, 1, true)`,
    'liquidityProviderHistory',
    { epoch: '7' },
    [],
  ],
  ['update liquidity_providers set sla = null', 'liquidityProviders', {}, ['sla']],
] as const

describeOn(STORE_KINDS, 'two compared stores', (kind) => {
  test('are equal in every resource, or the first row that differs is named', async (t) => {
    const [a, b] = await twoOf(t, kind)
    const same = await compare(a, b)
    assert.deepEqual(outcomes(same), ALL)
    assert.deepEqual(same.heights, [{ from: '1', to: '905' }])
    for (const [sql, resource, key, fields] of CHANGES) {
      await runSql(b, sql)
      const result = await compare(a, b)
      assert.equal(outcomes(result)[resource], 'differs', sql)
      const differenceIn = ({ resources }: Comparison) =>
        resources.find((part) => part.resource === resource)!.difference!
      const difference = differenceIn(result)
      assert.deepEqual({ ...difference.key, ...key }, difference.key, sql)
      assert.deepEqual(difference.fields, fields, sql)
      // With the sides swapped the difference is the same.
      const reversed = differenceIn(await compare(b, a))
      assert.deepEqual([reversed.a, reversed.b], [difference.b, difference.a], sql)
    }
  })

  test('are compared over the blocks that both have', async (t) => {
    const whole = await storeOf(t, kind, NAMED_SAMPLE)
    const parts: [what: string, isIn: (height: number) => boolean, heights: string][] = [
      ['the first', (height) => height <= 400, '1-400'],
      ['the last', (height) => height > 400, '401-905'],
      ['all but some', (height) => height < 300 || height > 420, '1-299 421-905'],
    ]
    for (const [what, isIn, heights] of parts) {
      const part = kind.create(t)
      await ingest(part, eventsOf(isIn), { allowGap: true })
      const result = await compare(whole, part)
      assert.equal(result.heights.map(({ from, to }) => `${from}-${to}`).join(' '), heights, what)
      const { checkpoints, points } = checkpointsAndPoints(result)
      assert.equal(checkpoints.difference ?? points.difference, null, what)
      assert.ok(points.same > 500 && points.notCovered > 100, what)
      // A missing row of the common blocks is still found.
      await runSql(part, 'delete from funding_period_data_points where height = 450 or height = 250')
      const beyond = await compare(part, whole)
      assert.equal(checkpointsAndPoints(beyond).points.difference?.a, null, what)
    }
  })

  test('may be pruned', async (t) => {
    const [a, b] = await twoOf(t, kind)
    await pruneBefore(b, 500n)
    for (const result of [await compare(a, b), await compare(b, a)]) {
      const { checkpoints, points } = checkpointsAndPoints(result)
      assert.equal(checkpoints.difference ?? points.difference, null)
      assert.ok(checkpoints.notCovered > 10 && points.notCovered > 1_000)
    }
  })
})

describe('services in a comparison', () => {
  const kind = STORE_KINDS[0]!

  test('may be compared with stores, and with each other', async (t) => {
    const [a, b] = await twoOf(t, kind)
    const [ofA, ofB] = [await serve(t, a), await serve(t, b)]
    for (const [one, other, service] of [
      [a, ofB, ofB],
      [ofA, b, ofA],
      [ofA, ofB, ofA],
    ] as const) {
      const fundingPayments = `${service} lists only those of one party`
      assert.deepEqual(outcomes(await compare(one, other)), { ...ALL, fundingPayments })
    }
    // Points in a gap of the other side are no difference, even though a service does not report their blocks.
    const gapped = kind.create(t)
    const part = eventsOf((height) => height < 300 || height > 420)
    await tryIngest(gapped, part, { allowGap: true })
    for (const result of [await compare(gapped, ofA), await compare(ofA, gapped)]) {
      const { checkpoints, points } = checkpointsAndPoints(result)
      assert.deepEqual([checkpoints.difference, points.difference], [null, null])
    }
    for (const [sql] of CHANGES) await runSql(b, sql)
    const different = Object.values(outcomes(await compare(ofA, await serve(t, b))))
    const changed = new Set(CHANGES.map(([, resource]) => resource))
    // A service does not list funding payments without a party.
    assert.equal(different.filter((outcome) => outcome === 'differs').length, changed.size - 1)
  })

  test('may be a data node of the reference, which is asked again after a refusal', async (t) => {
    const store = await storeOf(t, kind, NAMED_SAMPLE)
    const reference = await serveAsReference(t, await serve(t, store))
    const result = await compare(store, reference)
    const ofLyra = RESOURCES.filter(({ isOfReference }) => !isOfReference).map(({ name }) => name)
    assert.deepEqual(
      ['instruments', 'liquidityProviderHistory'].filter((name) => !ofLyra.includes(name)),
      [],
    )
    assert.deepEqual(outcomes(result), {
      ...ALL,
      fundingPayments: `${reference} lists only those of one party`,
      paidLiquidityFeesStats: `${reference} does not say of which event each is`,
      ...Object.fromEntries(ofLyra.map((name) => [name, `${reference} does not list them`])),
    })
    const changed = await storeOf(t, kind, NAMED_SAMPLE)
    await runSql(changed, "update checkpoints set hash = 'ff' where at_block = 300")
    assert.equal(outcomes(await compare(reference, changed)).checkpoints, 'differs')
  })

  test('may be a data node that keeps only one point of each block, and no nanoseconds', async (t) => {
    const store = await storeOf(t, kind, recorded('synthetic'))
    const dumped = (await dumpStore(store)).funding_period_data_points!
    const rows: string[][] = dumped.map((row) => JSON.parse(row))
    const newest = new Map<string, string[]>()
    const sameBlock = Map.groupBy(
      rows,
      ([market, source, , seq, , , height]) => `${market} ${source} ${seq} ${height}`,
    )
    for (const [key, points] of sameBlock)
      newest.set(key, points.sort((a, b) => Number(a[7]) - Number(b[7])).at(-1)!)
    const lost = rows.length - newest.size
    assert.ok(lost > 0)
    assert.ok(rows.some(([, , timestamp]) => !timestamp!.endsWith('000')))
    const keys = new Set([...newest.values()].map((row) => row.slice(0, 4).join(' ')))
    const holds = ({ marketId, timestamp, seq, dataPointType }: Record<string, string>) => {
      const source = SOURCES.indexOf(dataPointType as (typeof SOURCES)[number])
      return keys.has(`${marketId} ${source} ${timestamp} ${seq}`)
    }
    const reference = await serveAsReference(t, await serve(t, store), holds)
    const { points } = checkpointsAndPoints(await compare(store, reference))
    assert.deepEqual([points.difference, points.lost, points.same], [null, lost, newest.size])
    const { stdout } = await runLyra(t, `compare ${reference} ${store}`)
    assertSays(stdout, `${lost.toLocaleString('en')} that a data node does not keep`)
    // A service does not report the blocks of points.
    const ofService = checkpointsAndPoints(await compare(reference, await serve(t, store)))
    assert.equal(ofService.points.lost, lost)
    // A point that the data node could keep is a difference.
    const alone = [...sameBlock.values()].filter(([row, ...others]) => {
      return others.length === 0 && !row![2]!.endsWith('000')
    })
    const lone = alone[1]![0]!
    const without = await serveAsReference(
      t,
      await serve(t, store),
      (node) => holds(node) && node.timestamp !== lone[2],
    )
    const { difference: first } = checkpointsAndPoints(await compare(store, without)).points
    assert.deepEqual([first?.b, first?.a?.timestamp], [null, lone[2]])
    // The first real difference is still found.
    const [, source, timestamp, seq] = [...newest.values()].at(-1)!
    const where = `timestamp = ${timestamp} and seq = ${seq} and source = ${source}`
    const changed = await storeOf(t, kind, recorded('synthetic'))
    await runSql(changed, `update funding_period_data_points set twap = '77777' where ${where}`)
    const { difference } = checkpointsAndPoints(await compare(changed, reference)).points
    assert.deepEqual([difference?.fields, difference?.key.seq], [['twap'], seq])
  })

  test('are refused if they are no such service, empty or of another chain', async (t) => {
    const store = await storeOf(t, kind, SAMPLE)
    const endless = JSON.stringify({
      checkpoints: {
        edges: [{ cursor: 'x', node: { atBlock: '1', hash: 'a', blockHash: 'b' } }],
        pageInfo: { hasNextPage: true, endCursor: 'x' },
      },
    })
    for (const [coverage, page, message] of [
      ['<html>', '', /not JSON/],
      ['{"coverage":{"chainId":"a"}}', '', /not a response of a Lyra service/],
      [null, '{"checkpoints":{}}', /not a page of checkpoints/],
      [null, endless, /do not advance/],
    ] as const) {
      const lying = await listen(t, (path, respond) => {
        if (!path.startsWith('/api/v2/coverage')) respond(200, page, '7')
        else respond(coverage === null ? 404 : 200, coverage ?? '{}')
      })
      await assert.rejects(compare(store, lying), message)
    }
    const empty = kind.create(t)
    await openStore(empty).migrate()
    await assert.rejects(compare(store, empty), /the store is empty/)
    const other = kind.create(t)
    const events = readRecording(SAMPLE).toString('latin1').replaceAll('core-scenarios', 'core-elsewhere')
    await ingest(other, Buffer.from(events, 'latin1'))
    await assert.rejects(compare(store, other), / of chain core-elsewhere$/)
  })

  test('the command exits with 0 if nothing differs, and with 1 otherwise', async (t) => {
    const [a, b] = await twoOf(t, sqlite)
    const same = await runWell(t, `compare ${a} ${b}`)
    assert.match(same.stdout, /^checkpoints: 36 rows match$/m)
    assertSays(same.stdout, `\nNo difference in the ${RESOURCES.length} resources compared.\n`)
    await runSql(b, "update checkpoints set hash = 'ff' where at_block = 300")
    const different = await runLyra(t, `compare ${a} ${b}`)
    assert.equal(different.code, 1)
    assert.match(
      different.stdout,
      /^checkpoints: \d+ rows match; the first difference:\n {2}at_block 300, hash /m,
    )
    assertSays(different.stdout, `\n1 of the ${RESOURCES.length} resources compared differ.\n`)
    const json = await runLyra(t, `compare --json ${a} ${b}`)
    assert.deepEqual([json.code, JSON.parse(json.stdout).same], [1, false])
    assert.equal((await runLyra(t, `compare ${a}`)).code, 2)
    assert.equal((await runLyra(t, `compare ${a} ${a}.none`)).code, 1)
  })
})

type Respond = (status: number, body: string, height?: string) => void

function listen(t: TestContext, answer: (path: string, respond: Respond) => void): Promise<string> {
  return serveWith(t, (request, response) => {
    answer(request.url!, (status, body, height) => {
      response.writeHead(status, height === undefined ? {} : { 'x-block-height': height }).end(body)
    })
  })
}

/**
 * Serves the data of a service as the reference's data node does: no coverage, only three lists, numbers written
 * differently, and pages that start with the last row of the page before. The first request is over its rate limit.
 */
async function serveAsReference(
  t: TestContext,
  base: string,
  holds: (point: Record<string, string>) => boolean = () => true,
): Promise<string> {
  let asked = 0
  return listen(t, (path, respond) => {
    // The client asks again after a refusal over the rate limit.
    if (asked++ === 0) return respond(429, '{}')
    if (!/^\/api\/v2\/(checkpoints|liquidity|funding-periods)/.test(path)) {
      respond(404, '{"code":5,"message":"Not Found","details":[]}')
      return
    }
    const target = new URL(path, base)
    // Pages are short, so that there are several.
    if (target.searchParams.get('pagination.first') === '5000')
      target.searchParams.set('pagination.first', '700')
    void fetch(target).then(async (response) => {
      const text = (await response.text()).replaceAll(/"price":"(\d+)000"/g, '"price":"$1E+3"')
      respond(response.status, repeated(text, holds), response.headers.get('x-block-height')!)
    })
  })
}

/** Repeats the first edge of a page, removes points that the reference does not store, and cuts times. */
function repeated(text: string, holds: (point: Record<string, string>) => boolean): string {
  const body = JSON.parse(text) as Record<string, { edges: { node: Record<string, string> }[] }>
  for (const list of Object.values(body)) {
    list.edges = list.edges.filter(({ node }) => node.dataPointType === undefined || holds(node))
    for (const { node } of list.edges)
      if (node.timestamp !== undefined) node.timestamp = String(cutToMicrosecond(BigInt(node.timestamp)))
    if (list.edges.length > 1) list.edges.splice(1, 0, list.edges[0]!)
  }
  return JSON.stringify(body)
}
