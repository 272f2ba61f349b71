import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import type { MarketEvent } from '#core/events/event'
import { MARKET_STATES, TRADING_MODES } from '#core/events/market-enums'
import { fundingPeriods } from '#core/resources/funding-periods/description'
import { marketSummaries } from '#core/resources/market-summaries'
import type { PageQuery } from '#core/store/pages/page'
import { MarketSummaries } from '#core/store/queries/summaries/market-summaries'
import { valueLists } from '#core/store/queries-protocol'
import { idOf } from '../fixtures/events/event-stream.ts'
import { PageModel } from '../fixtures/models/page-model.ts'
import { getPage, send } from '../fixtures/requests/http.ts'
import { assertMalformed } from '../fixtures/requests/refusals.ts'
import { testPages } from '../fixtures/resources/page-suites.ts'
import {
  caseOf,
  finalNode,
  type ModelRow,
  markets,
  RESOURCE_CASES,
  type ResourceCase,
} from '../fixtures/resources/resource-cases.ts'
import {
  createLiveStore,
  periodEvent,
  perpetualMarket,
  pointAt,
  serveLive,
} from '../fixtures/stores/live-store.ts'
import { describeOn, STORE_KINDS } from '../fixtures/stores/stores.ts'

const SUMMARIES = '/api/v2/market-summaries'
const ESTIMATES = '/api/v2/funding-estimates/'

type Node = Record<string, unknown>

/** The rows of another resource from its own model, ascending. */
function rowsOf(name: string, events: readonly MarketEvent[]): ModelRow[] {
  const model = new PageModel(caseOf(name))
  model.add(1, events)
  return model.rows({})
}

/** The market of an event, of any kind with rows of its own. */
function marketOf(event: MarketEvent): string[] {
  // Of losses, and of events without payments, there are no rows.
  const { kind, payments } = event as { kind: string; payments?: readonly object[] }
  const isOwn = kind !== 'funding-loss' && payments?.length !== 0
  return 'marketId' in event && isOwn ? [event.marketId] : []
}

/** The node of a market's latest data; null if no event has figures. */
function marketDataOf(events: readonly MarketEvent[], marketId: string): object | null {
  const last = events.findLast((event) => event.kind === 'market-data' && event.marketId === marketId)
  if (last?.kind !== 'market-data' || last.figures === null) return null
  const { timestamp, markPrice, openInterest, state, tradingMode } = last.figures
  return {
    timestamp: String(timestamp),
    markPrice,
    openInterest: String(openInterest),
    marketState: MARKET_STATES[state],
    tradingMode: TRADING_MODES[tradingMode],
  }
}

const finalPeriod = <Node extends Readonly<Record<string, unknown>>>(node: Node | null) =>
  node === null ? null : finalNode(fundingPeriods, node)

/** The periods that data points and the latest market data of a market name. */
function seqsNamed(events: readonly MarketEvent[], marketId: string): bigint[] {
  const data = events.findLast((event) => event.kind === 'market-data' && event.marketId === marketId)
  const perpetual = data?.kind === 'market-data' ? data.figures?.perpetual : null
  return [
    ...rowsOf('fundingPeriodDataPoints', events)
      .filter(({ of }) => of.market_id === marketId)
      .map(({ node }) => BigInt(String(node.seq))),
    ...(perpetual ? [perpetual.seq] : []),
  ]
}

/** Market summaries calculated on plain arrays, from the nodes of the other resources' models. */
const SUMMARY_CASE: ResourceCase = {
  resource: marketSummaries,
  events: fc.oneof(
    ...RESOURCE_CASES.filter(({ resource }) => resource.name !== 'checkpoints').map(({ events }) => events),
  ),
  keys: fc.tuple(markets),
  rows: (events, blocks) => {
    const history = caseOf('liquidityProviderHistory').rows(events, blocks)
    const [points, periods, named, providers] = [
      'fundingPeriodDataPoints',
      'fundingPeriods',
      'instruments',
      'liquidityProviders',
    ].map((name) => rowsOf(name, events)) as [ModelRow[], ModelRow[], ModelRow[], ModelRow[]]
    const ids = new Set([...events.flatMap(marketOf), ...history.map(({ of }) => String(of.market_id))])
    return [...ids].map((marketId) => {
      const of = (rows: ModelRow[]) =>
        rows.filter((row) => row.of.market_id === marketId).map(({ node }) => node)
      const latest = of(periods).at(-1)
      const isLatest = seqsNamed(events, marketId).every((seq) => seq <= BigInt(String(latest?.seq ?? -1)))
      const last = (source: string) => of(points).findLast(({ dataPointType }) => dataPointType === source)
      return {
        key: [marketId],
        of: { market_id: marketId },
        node: {
          marketId,
          instrument: of(named).at(-1) ?? null,
          runningPeriod:
            latest !== undefined && latest.end === undefined && isLatest ? finalPeriod(latest) : null,
          lastPaidPeriod: finalPeriod(
            of(periods).findLast(({ fundingPayment }) => fundingPayment !== undefined) ?? null,
          ),
          lastExternalPoint: last('SOURCE_EXTERNAL') ?? null,
          lastInternalPoint: last('SOURCE_INTERNAL') ?? null,
          marketData: marketDataOf(events, marketId),
          providers: String(of(providers).length),
        },
      }
    })
  },
}

async function estimateOf(base: string, marketId: string): Promise<unknown> {
  return JSON.parse((await send(base, `${ESTIMATES}${marketId}`)).text).fundingEstimate
}

/** Removes the estimate, after comparing it with its own operation's, and the averages (known-periods.test.ts). */
async function withoutEstimate(base: string, { estimate, averages: _, ...rest }: Node): Promise<Node> {
  assert.deepEqual(estimate, await estimateOf(base, String(rest.marketId)))
  return rest
}

const opening = (marketId: string, height: number) =>
  periodEvent({ marketId, seq: BigInt(1 + Math.floor(height / 50)) })

/** A store of some perpetual markets, each with a running period and its first points. */
async function fillMarkets(t: TestContext, count: number) {
  const { store, live } = await createLiveStore(t)
  const ids = Array.from({ length: count }, (_, index) => (index + 16).toString(16).repeat(32))
  await live.commit(
    1,
    // Their numbers in the store are not in the order of their ids.
    ids
      .toReversed()
      .flatMap((marketId) => [
        perpetualMarket(marketId),
        opening(marketId, 1),
        pointAt(1, { marketId, source: 1, late: 1 }),
        pointAt(1, { marketId, late: 1 }),
      ]),
  )
  return { store, live, ids }
}

const PAGE: PageQuery = {
  resource: marketSummaries,
  selection: {},
  descending: false,
  cursor: null,
  limit: 1_000,
}

describeOn(STORE_KINDS, 'market summaries', (kind) => {
  testPages(kind, SUMMARY_CASE, withoutEstimate)

  test('have cursors of their own', async (t) => {
    const { base } = await serveLive(
      t,
      kind,
      [...'123'].map((digit) => perpetualMarket(idOf(digit))),
    )
    const ofInstruments = (await getPage(base, '/api/v2/instruments')).edges[0]!.cursor
    const own = (await getPage(base, SUMMARIES)).edges[0]!.cursor
    for (const after of [ofInstruments, `${own}&marketId=${idOf('9')}`])
      await assertMalformed(base, `${SUMMARIES}?pagination.after=${after}`, 10028)
  })

  test('include a market of which only auctions are known', async (t) => {
    const marketId = idOf('c')
    const { base } = await serveLive(t, kind, [
      { kind: 'auction', marketId, openingAuction: true, leave: false, start: 1n, end: 2n },
    ])
    const { edges } = await getPage(base, SUMMARIES)
    assert.deepEqual(
      edges.map(({ node }) => [node.marketId, node.instrument, node.providers]),
      [[marketId, null, '0']],
    )
  })
})

/** A statement that was run, with one of its lists of values. */
type Run = { text: string; values: readonly (bigint | string)[] }

/** Reads a page from a file as the store does, and returns the statements run. */
function runsIn(path: string, summaries: MarketSummaries): Run[] {
  const database = new DatabaseSync(path, { readOnly: true, returnArrays: true })
  try {
    const reading = summaries.read(PAGE)
    const runs: Run[] = []
    let step = reading.next()
    while (!step.done) {
      const { text } = step.value
      const statement = database.prepare(text.replaceAll(/\$(\d+)/g, '?$1'))
      const lists = valueLists(step.value)
      runs.push(...lists.map((values) => ({ text, values })))
      step = reading.next(lists.flatMap((values) => statement.all(...values)) as never)
    }
    return runs
  } finally {
    database.close()
  }
}

test('the cost of a page of market summaries is a few index lookups for each market that a commit changed', async (t) => {
  const [kind] = STORE_KINDS
  if (kind?.name !== 'sqlite') return
  const { store, live, ids } = await fillMarkets(t, 20)
  const summaries = new MarketSummaries()
  const first = runsIn(store, summaries)
  const ofEachMarket = first.filter(({ text }) => /_period|last_/.test(text))
  assert.equal(ofEachMarket.length, 4 * ids.length)
  assert.ok(first.length <= 4 * ids.length + 7, `${first.length} statements`)
  assert.equal(runsIn(store, summaries).length, 3)
  const changed = [ids[3]!, ids[4]!, ids[11]!]
  for (let height = 2; height < 40; height++) {
    await live.commit(
      height,
      changed.map((marketId) => pointAt(height, { marketId })),
    )
  }
  const later = runsIn(store, summaries)
  assert.ok(later.length <= 7 * changed.length + 3, `${later.length} statements`)
  await live.commit(40, [])
  assert.equal(runsIn(store, summaries).length, 3)
  const database = new DatabaseSync(store, { readOnly: true })
  for (const { text, values } of [...first, ...later]) {
    const plan = database
      .prepare(`explain query plan ${text.replaceAll(/\$(\d+)/g, '?$1')}`)
      .all(...values)
      .map((step) => String(step.detail))
    for (const step of plan) {
      assert.doesNotMatch(
        step,
        /TEMP B-TREE|^SCAN (?!\(|changes|stream|gaps|page|CONSTANT|markets USING COVERING INDEX|latest_period|paid_period|last_)/,
        plan.join('\n'),
      )
    }
  }
  database.close()
})
