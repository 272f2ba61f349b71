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
import { READ_STATE, type StoreVersion } from './changes.ts'
import { stateOf } from './freshness.ts'
import type { Position } from './page.ts'
import { FIND_MARKET, type Statement, spanStatement } from './page-statement.ts'

/** Points of a running period, and auctions of its market, beyond which no estimate is made. */
const MAX_ROWS = 100_000

/** States of a market in which no funding is paid any more. */
const ENDED = ['STATE_REJECTED', 'STATE_CANCELLED', 'STATE_CLOSED', 'STATE_SETTLED'].map((name) =>
  MARKET_STATES.indexOf(name as (typeof MARKET_STATES)[number]),
)

/** What the estimate of a running period follows from, in the order of the stream. */
export type FundingInputs = {
  parameters: FundingParameters
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
  from auctions where market_id = $1
  order by auctions.height, auctions.event_index limit ${MAX_ROWS + 1}`

const pointsText = (source: DataPointSource) => `
  select cast(height as text), event_index, cast(timestamp as text), price from funding_period_data_points
  where market = $1 and source = ${source} and timestamp between $2 and $3 and seq = $4 limit ${MAX_ROWS + 1}`

type Placed = { height: bigint; index: number; event: FundingInputs['events'][number] }

/**
 * The statements that gather what the estimate of a market's running period follows from, in one snapshot, one after
 * another: each is yielded and wants its rows. Null in an empty store.
 */
export function* readFundingInputs(marketId: string): Generator<Statement, FundingInputsAt | null, Row[]> {
  const [found] = yield { text: READ_STATE, values: [] }
  const { version, position } = stateOf(found!)
  return position === null ? null : { version, position, inputs: yield* readFundingInputsOf(marketId) }
}

/** The same within a reading that knows its position; null where no estimate can be made. */
export function* readFundingInputsOf(marketId: string): Generator<Statement, FundingInputs | null, Row[]> {
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
  const [lacks] = yield { text: READ_LACKS, values: [openedAt.height, start] }
  if (Number(lacks![0]) > 0 || Number(lacks![1]) > 0) return null
  const opening = {
    ...{ kind: 'funding-period' as const, marketId, seq, start, end: null },
    ...{ fundingPayment: null, fundingRate: null, internalTwap: null, externalTwap: null },
  }
  const events: Placed[] = [{ ...openedAt, event: opening }]
  for (const row of yield { text: READ_AUCTIONS, values: [marketId] })
    events.push(placedAuction(marketId, row))
  if (events.length > MAX_ROWS) return null
  const points = yield* readPoints(marketId, seq)
  if (points === null) return null
  // A point that was carried over is of a time before the period, and so may have been deleted.
  if (Number(lacks![2]) > 0 && [1, 2].some((source) => !isKnownFrom(points, source, start))) return null
  events.push(...points)
  events.sort((a, b) => (a.height === b.height ? a.index - b.index : a.height < b.height ? -1 : 1))
  return { parameters, events: events.map(({ event }) => event) }
}

/** Whether some point of a source is of a time or before it. */
function isKnownFrom(points: readonly Placed[], source: number, time: bigint): boolean {
  return points.some(
    ({ event }) =>
      event.kind === 'funding-period-data-point' && event.source === source && event.timestamp <= time,
  )
}

/** Null where they are too many, or there is none. */
function* readPoints(marketId: string, seq: bigint): Generator<Statement, Placed[] | null, Row[]> {
  const [number] = yield { text: FIND_MARKET, values: [marketId] }
  if (number === undefined) return null
  const market = BigInt(number[0]!)
  const [span] = yield spanStatement(fundingPeriodDataPoints, { marketId, seq }, market)!
  if (span === undefined) return null
  const points: Placed[] = []
  for (const source of [1, 2] as const) {
    const values = [market, BigInt(span[0]!), BigInt(span[1]!), seq]
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
