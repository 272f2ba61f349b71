import { randomUUID } from 'node:crypto'
import type { ResourceName, Row } from '../../../model/resource.ts'
import { fundingPeriodDataPoints } from '../../../resources/funding-period-data-points/description.ts'
import { fundingPeriods } from '../../../resources/funding-periods/description.ts'
import { instruments } from '../../../resources/instruments/description.ts'
import { liquidityProviders } from '../../../resources/liquidity-providers/description.ts'
import { marketSummaries } from '../../../resources/market-summaries.ts'
import type { Change, StoreVersion } from '../../changes.ts'
import { EMPTY_PAGE, type Freshness, type Page, type PageQuery, type StoreHead } from '../../pages/page.ts'
import type { Query } from '../../queries-protocol.ts'
import { readMarketPage } from '../contents/market-pages.ts'
import { readFreshness } from '../freshness.ts'
import type { RateAverages } from '../periods/rate-averages.ts'
import { readSummaries, type SummaryMoment } from './read-summaries.ts'
import { adjacentMarkets } from './summary-parts.ts'

const READ_LAST_GAP = 'select cast(to_height as text) from gaps order by gaps.from_height desc limit 1'

/** The resources whose changes affect summaries. */
const SUMMARY_PARTS = new Set<ResourceName>(
  [fundingPeriodDataPoints, fundingPeriods, instruments, liquidityProviders, marketSummaries].map(
    ({ name }) => name,
  ),
)

/** Maximum number of cached rows, of about 2 kB each. */
const MAX_CACHED = 10_000

/** Number of markets that one query lists, if all are listed. */
const MARKETS_AT_A_TIME = 1_000

/** Summaries as rows, and the averages in them, by market. */
type Summaries = { rows: Map<string, Row>; averages: Map<string, RateAverages> }

/** The summaries of markets as of a commit. */
type CachedSummaries = Summaries & {
  version: StoreVersion
  /** As in {@link SummaryMoment}. */
  lastGap: bigint | null
}

/** The summaries of all markets in one snapshot. */
type AllSummaries = { storeHead: StoreHead; version: StoreVersion; rows: readonly Row[] }

/** Summaries that differ from those of the previous answer, the height of the store, and the name of this answer. */
export type ChangedSummaries = { rows: Row[]; height: bigint; name: string }

/** All summaries as of an answer of {@link MarketSummaries.changed}, by market. */
type AnsweredSummaries = { name: string | null; height: bigint; rows: ReadonlyMap<string, Row> }

/** Reads market summaries and caches them: only those of changed markets are read again. */
export class MarketSummaries {
  #cached: CachedSummaries | null = null
  #answered: AnsweredSummaries = { name: null, height: -1n, rows: new Map() };

  /** The page of one snapshot. */
  *read(query: PageQuery): Query<Page> {
    const cached = this.#cached
    const state = yield* readFreshness(cached?.version ?? null)
    const { storeHead, version } = state
    const none = { ...EMPTY_PAGE, storeHead, version }
    if (storeHead === null) return none
    const { ids, more, hasRowsAtOrBefore } = yield* readMarketPage(query)
    const rows = yield* this.#refreshed(cached, state, storeHead, ids)
    return { ...none, rows: ids.map((marketId) => rows.get(marketId)!), more, hasRowsAtOrBefore }
  }

  /** The summaries of all markets, by id; null while the store has no block. */
  *all(): Query<AllSummaries | null> {
    const cached = this.#cached
    const state = yield* readFreshness(cached?.version ?? null)
    const { storeHead, version } = state
    if (storeHead === null) return null
    const ids = yield* readAllMarkets()
    const rows = yield* this.#refreshed(cached, state, storeHead, ids)
    return { storeHead, version, rows: ids.map((id) => rows.get(id)!) }
  }

  /**
   * The summaries of all markets that differ from those of the last answer; null while the store has no block, or a replica
   * lags behind that answer.
   *
   * @param received the name of the last answer that the caller has received; all summaries follow if it is another one than
   * the last one given
   */
  *changed(received: string | null): Query<ChangedSummaries | null> {
    const cached = this.#cached
    const state = yield* readFreshness(cached?.version ?? null)
    const { storeHead } = state
    if (storeHead === null || BigInt(storeHead.height) < this.#answered.height) return null
    const ids = yield* readAllMarkets()
    const rows = yield* this.#refreshed(cached, state, storeHead, ids)
    const before = received === this.#answered.name ? this.#answered.rows : new Map<string, Row>()
    const changed = ids
      .map((id) => rows.get(id)!)
      .filter((row) => !isSameRow(before.get(String(row[0])), row))
    // A query may run again after its answer was lost: a new name for each answer tells the two apart.
    const name = randomUUID()
    const height = BigInt(storeHead.height)
    this.#answered = { name, height, rows }
    return { rows: changed, height, name }
  }

  /**
   * The rows of at least these markets: cached ones if they have not changed, others from the store.
   *
   * @param cached the cache when the caller's query began; `state` has the changes since its version
   */
  *#refreshed(
    cached: CachedSummaries | null,
    state: Freshness,
    storeHead: StoreHead,
    ids: readonly string[],
  ): Query<ReadonlyMap<string, Row>> {
    const [gap] = yield { text: READ_LAST_GAP }
    const moment: SummaryMoment = {
      at: BigInt(storeHead.timestamp),
      lastGap: gap === undefined ? null : BigInt(gap[0]!),
    }
    const { rows, averages } =
      cached === null || state.changed === null ? noSummaries() : stillValid(cached, state.changed, moment)
    const groups = adjacentMarkets(ids, (id) => !rows.has(id))
    if (groups.length > 0) {
      for (const [id, summary] of yield* readSummaries(groups, averages, moment)) {
        rows.set(id, summary.row)
        averages.set(id, summary.averages)
      }
    }
    // A query of an older snapshot may end after one of a newer one.
    if (this.#cached === cached && rows.size <= MAX_CACHED) {
      this.#cached = { version: state.version, lastGap: moment.lastGap, rows, averages }
    }
    return rows
  }
}

const noSummaries = (): Summaries => ({ rows: new Map(), averages: new Map() })

/** Copies of the cached rows and averages that changes since, and the time, leave valid. */
function stillValid(
  cached: CachedSummaries,
  changed: readonly Change[],
  { at, lastGap }: SummaryMoment,
): Summaries {
  // A summary has no averages if its periods may be incomplete because of the last gap.
  const rows = new Map(cached.lastGap === lastGap ? cached.rows : [])
  const averages = new Map(cached.averages)
  for (const { resource, scope } of changed) {
    if (!SUMMARY_PARTS.has(resource)) continue
    for (const parts of resource === fundingPeriods.name ? [rows, averages] : [rows]) {
      if (scope === null) parts.clear()
      else parts.delete(scope)
    }
  }
  for (const [marketId, { until }] of averages) {
    if (until > at) continue
    averages.delete(marketId)
    rows.delete(marketId)
  }
  return { rows, averages }
}

function isSameRow(one: Row | undefined, other: Row): boolean {
  return one?.every((value, at) => value === other[at]) ?? false
}

/** The ids of all markets that any row names, ascending. */
function* readAllMarkets(): Query<string[]> {
  const ids: string[] = []
  for (let more = true; more; ) {
    const last = ids.at(-1)
    const page = yield* readMarketPage({
      resource: marketSummaries,
      selection: {},
      descending: false,
      cursor: last === undefined ? null : [last],
      limit: MARKETS_AT_A_TIME,
    })
    ids.push(...page.ids)
    more = page.more
  }
  return ids
}
