import type { Place } from '../domain/lacks.ts'
import type {
  AuctionEvent,
  DataPointSource,
  FundingParameters,
  FundingPeriodDataPointEvent,
  FundingPeriodEvent,
} from '../events/event.ts'
import { fundingPeriodDataPoints } from '../resources/funding-period-data-points.ts'
import { MARKET_STATES } from '../resources/instruments.ts'
import type { Row } from '../resources/resource.ts'
import { BLOCKS_OF_SPAN } from './block-spans.ts'
import { READ_CHANGES, type StoreVersion } from './changes.ts'
import { freshnessOf } from './freshness.ts'
import type { Position } from './page.ts'
import { FIND_MARKET, type Statement, spanStatement } from './page-statement.ts'

/** Points of a running period, and auctions of its market, beyond which no estimate is made. */
const MAX_ROWS = 100_000

/** States of a market in which no funding is paid any more. */
const ENDED = ['STATE_REJECTED', 'STATE_CANCELLED', 'STATE_CLOSED', 'STATE_SETTLED'].map((name) =>
  MARKET_STATES.indexOf(name as (typeof MARKET_STATES)[number]),
)

/** A running period: its number, its start (Unix nanoseconds), and the event that opened it. */
type OpenPeriod = { seq: bigint; start: bigint; openedAt: Place }

/** The inputs of an earlier estimate: all of a period up to a height, as a commit held them. */
export type KnownInputs = OpenPeriod & { version: StoreVersion; height: bigint }

/** What the estimate of a running period follows from, in the order of the stream. */
export type FundingInputs = {
  parameters: FundingParameters
  period: OpenPeriod
  /** The inputs that these continue; null: they are all of the period. */
  after: KnownInputs | null
  events: (FundingPeriodEvent | FundingPeriodDataPointEvent | AuctionEvent)[]
}

/** The commit and the last block of the snapshot, and what an estimate follows from; null where none can be made. */
export type FundingInputsAt = { version: StoreVersion; position: Position; inputs: FundingInputs | null }

const READ_MARKET = `
  select state, interest_rate, clamp_lower_bound, clamp_upper_bound, scaling_factor, rate_lower_bound,
    rate_upper_bound
  from instruments where market_id = $1`

/** The latest period; it runs where it has no end. */
const READ_PERIOD = `
  select cast(seq as text), cast(start_timestamp as text), cast(end_timestamp as text),
    cast(start_height as text), start_index, internal_twap, external_twap
  from funding_periods where market_id = $1
  order by funding_periods.start_timestamp desc, funding_periods.seq desc limit 1`

/**
 * Gaps and imported ranges in the blocks of the period, and its opening where that is of no known block; rows of it that
 * were deleted; whether any row was.
 */
const READ_LACKS = `
  select (select count(*) from gaps where to_height >= $1) + (select count(*) from imported where to_height >= $1)
      + case when $1 = 0 then 1 else 0 end,
    (select count(*) from pruned where before_height > $1 or before_timestamp > $2),
    (select count(*) from pruned)`

const READ_AUCTIONS = `
  select cast(height as text), event_index, opening_auction, leave, cast(start_timestamp as text),
    cast(end_timestamp as text)
  from auctions where market_id = $1 and height > $2 and height <= $3
  order by auctions.height, auctions.event_index limit ${MAX_ROWS + 1}`

/** Between which times the points of blocks lie, from those of a height on. */
const READ_BLOCK_SPAN = `
  select cast(min(first_timestamp) as text), cast(max(last_timestamp) as text)
  from funding_period_block_spans where market = $1 and blocks >= $2`

const pointsText = (source: DataPointSource) => `
  select cast(height as text), event_index, cast(timestamp as text), cast(price as text)
  from funding_period_data_points
  where market = $1 and source = ${source} and timestamp between $2 and $3 and seq = $4
    and height > $5 and height <= $6
  limit ${MAX_ROWS + 1}`

type Placed = { height: bigint; index: number; event: FundingInputs['events'][number] }

/**
 * The statements that gather what the estimate of a market's running period follows from, within a reading; null where
 * no estimate can be made. Where the inputs that are known still stand, those that have come since.
 *
 * @param upTo the height of the last block: on a cluster rows of later ones may be there already
 */
export function* readFundingInputs(
  marketId: string,
  known: KnownInputs | null,
  upTo: bigint,
): Generator<Statement, FundingInputs | null, Row[]> {
  const [market] = yield { text: READ_MARKET, values: [marketId] }
  const [interestRate, clampLowerBound, clampUpperBound, ...limits] = (market ?? []).slice(1) as (
    | string
    | null
  )[]
  if (market === undefined || ENDED.includes(Number(market[0])) || interestRate == null) return null
  const [scalingFactor = null, lowerBound = null, upperBound = null] = limits
  const parameters = {
    ...{ interestRate, clampLowerBound: clampLowerBound ?? '', clampUpperBound: clampUpperBound ?? '' },
    ...{ scalingFactor, lowerBound, upperBound },
  }
  const [period] = yield { text: READ_PERIOD, values: [marketId] }
  if (period === undefined || period[2] !== null) return null
  const seq = BigInt(period[0]!)
  const start = BigInt(period[1]!)
  const openedAt = { height: BigInt(period[3]!), index: Number(period[4]) }
  const open: OpenPeriod = { seq, start, openedAt }
  const [lacks] = yield { text: READ_LACKS, values: [openedAt.height, start] }
  if (Number(lacks![0]) > 0 || Number(lacks![1]) > 0) return null
  const after = known !== null && (yield* isStanding(known, open)) ? known : null
  const events = yield* readEvents(marketId, open, { after, upTo })
  if (events === null) return null
  // A point that was carried over is of a time before the period, and so may have been deleted.
  const isPruned = Number(lacks![2]) > 0
  if (after === null && isPruned && [1, 2].some((source) => !isKnownFrom(events, source, start))) return null
  return { parameters, period: open, after, events: events.map(({ event }) => event) }
}

/** Whether what was known of a period is still so: of this store, which has only been added to since. */
function* isStanding(known: KnownInputs, open: OpenPeriod): Generator<Statement, boolean, Row[]> {
  if (known.seq !== open.seq || known.start !== open.start || !isSamePlace(known.openedAt, open.openedAt))
    return false
  const commits = yield { text: READ_CHANGES, values: [known.version.version] }
  const since = freshnessOf(commits, known.version)
  return since !== null && since.changed !== null
}

const isSamePlace = (a: Place, b: Place) => a.height === b.height && a.index === b.index

/** Which of a period's events are read: those after the blocks that are known, up to a height. */
type Wanted = { after: KnownInputs | null; upTo: bigint }

/** The events of a running period, or those after the blocks that are known; null where they are too many. */
function* readEvents(
  marketId: string,
  { seq, start, openedAt }: OpenPeriod,
  wanted: Wanted,
): Generator<Statement, Placed[] | null, Row[]> {
  const { after, upTo } = wanted
  const opening = {
    ...{ kind: 'funding-period' as const, marketId, seq, start, end: null },
    ...{ fundingPayment: null, fundingRate: null, internalTwap: null, externalTwap: null },
  }
  const events: Placed[] = after === null ? [{ ...openedAt, event: opening }] : []
  for (const row of yield { text: READ_AUCTIONS, values: [marketId, after?.height ?? -1n, upTo] })
    events.push(placedAuction(marketId, row))
  if (events.length > MAX_ROWS) return null
  const points = yield* readPoints(marketId, seq, wanted)
  if (points === null) return null
  events.push(...points)
  return events.sort((a, b) => (a.height === b.height ? a.index - b.index : a.height < b.height ? -1 : 1))
}

/** Whether some point of a source is of a time or before it. */
function isKnownFrom(points: readonly Placed[], source: number, time: bigint): boolean {
  return points.some(
    ({ event }) =>
      event.kind === 'funding-period-data-point' && event.source === source && event.timestamp <= time,
  )
}

/** A period's points, or those after the blocks that are known; null where they are too many, or the market has none. */
function* readPoints(
  marketId: string,
  seq: bigint,
  { after, upTo }: Wanted,
): Generator<Statement, Placed[] | null, Row[]> {
  const [number] = yield { text: FIND_MARKET, values: [marketId] }
  if (number === undefined) return null
  const market = BigInt(number[0]!)
  const [span] =
    after === null
      ? yield spanStatement(fundingPeriodDataPoints, { marketId, seq }, market)!
      : yield { text: READ_BLOCK_SPAN, values: [market, (after.height + 1n) / BLOCKS_OF_SPAN] }
  if (span?.[0] == null) return after === null ? null : []
  const points: Placed[] = []
  for (const source of [1, 2] as const) {
    const values = [market, BigInt(span[0]), BigInt(span[1]!), seq, after?.height ?? -1n, upTo]
    for (const [height, index, timestamp, price] of yield { text: pointsText(source), values }) {
      points.push({
        height: BigInt(height!),
        index: Number(index),
        event: {
          ...{ kind: 'funding-period-data-point', marketId, seq, source, twap: '' },
          ...{ timestamp: BigInt(timestamp!), price: price as string },
        },
      })
    }
    if (points.length > MAX_ROWS) return null
  }
  return points
}

/** Booleans are numbers in SQLite. */
function placedAuction(marketId: string, [height, index, opening, leave, start, end]: Row): Placed {
  return {
    height: BigInt(height!),
    index: Number(index),
    event: {
      ...{ kind: 'auction', marketId, openingAuction: Boolean(opening), leave: Boolean(leave) },
      ...{ start: BigInt(start!), end: BigInt(end!) },
    },
  }
}
