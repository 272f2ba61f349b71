import { MARKET_STATES, TRADING_MODES } from '../../events/market-enums.ts'
import type { Row } from '../../model/resource.ts'
import type { Query } from '../queries-protocol.ts'
import { textOrNull } from '../statements.ts'

/** The latest data of a market. Decimal numbers are text; those of funding are null if the data have none. */
export type LatestData = {
  marketId: string
  /** Unix nanoseconds. */
  timestamp: bigint
  /** In the market's decimals; empty if there is none. */
  markPrice: string
  /** In the market's position decimals. */
  openInterest: string
  /** As stored: an index of {@link MARKET_STATES}. */
  state: number
  /** As stored: an index of {@link TRADING_MODES}. */
  mode: number
  fundingPayment: string | null
  fundingRate: string | null
  internalTwap: string | null
  externalTwap: string | null
  /** The period that these data name. */
  seq: bigint
  /** The last period that any data of the market have named; null if none is named. */
  highestSeq: bigint | null
}

const READ_MARKET_DATA = `
  select market_id, cast(timestamp as text), mark_price, open_interest, market_state, trading_mode,
    funding_payment, funding_rate, internal_twap, external_twap, cast(seq as text),
    cast(nullif(highest_seq, -1) as text)
  from market_data where market_id >= $1 and market_id <= $2`

/** Reads the latest data of the markets between each of these pairs of ids, both included. */
export function* readDataBetween(ends: readonly (readonly [string, string])[]): Query<LatestData[]> {
  return (yield { text: READ_MARKET_DATA, each: ends }).map(latestDataOf)
}

function latestDataOf(row: Row): LatestData {
  const [marketId, timestamp, markPrice, openInterest, state, mode, ...funding] = row
  const [fundingPayment, fundingRate, internalTwap, externalTwap, seq, highestSeq] = funding
  return {
    marketId: String(marketId),
    timestamp: BigInt(timestamp!),
    markPrice: String(markPrice),
    openInterest: String(openInterest),
    state: Number(state),
    mode: Number(mode),
    fundingPayment: textOrNull(fundingPayment),
    fundingRate: textOrNull(fundingRate),
    internalTwap: textOrNull(internalTwap),
    externalTwap: textOrNull(externalTwap),
    seq: BigInt(seq!),
    highestSeq: highestSeq == null ? null : BigInt(highestSeq),
  }
}

/** Reads the latest data of a market; null if none are stored. */
export function* readLatestData(marketId: string): Query<LatestData | null> {
  const [data = null] = yield* readDataBetween([[marketId, marketId]])
  return data
}

/** The node of a market's data. */
export function marketDataNode({ timestamp, markPrice, openInterest, state, mode }: LatestData): object {
  return {
    timestamp: timestamp.toString(),
    markPrice,
    openInterest,
    marketState: MARKET_STATES[state],
    tradingMode: TRADING_MODES[mode],
  }
}
