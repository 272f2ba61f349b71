import { MARKET_STATES, TRADING_MODES } from '../../events/market-enums.ts'
import type { Row } from '../../model/resource.ts'
import { fundingPeriods } from '../../resources/funding-periods/description.ts'
import { READ_STATE, type StoreVersion } from '../changes.ts'
import type { StoreHead } from '../pages/page.ts'
import { columnList, columnNames } from '../pages/scan-sql.ts'
import type { Query } from '../queries-protocol.ts'
import { stateOf } from './freshness.ts'

/** States in which a market no longer pays funding: rejected, cancelled, closed, trading terminated, settled. */
export const ENDED_STATES: readonly number[] = [2, 4, 7, 8, 9]

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

/** The latest data of the markets between two ids, both included, for {@link latestDataOf}. */
export const READ_MARKET_DATA = `
  select market_id, cast(timestamp as text), mark_price, open_interest, market_state, trading_mode,
    funding_payment, funding_rate, internal_twap, external_twap, cast(seq as text),
    cast(nullif(highest_seq, -1) as text)
  from market_data where market_id >= $1 and market_id <= $2`

/** The latest data of a market, from a row of {@link READ_MARKET_DATA}. */
export function latestDataOf(row: Row): LatestData {
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

const textOrNull = (cell: Row[number] | undefined): string | null => (cell == null ? null : String(cell))

/** Reads the latest data of a market; null if none are stored. */
export function* readLatestData(marketId: string): Query<LatestData | null> {
  const [row] = yield { text: READ_MARKET_DATA, values: [marketId, marketId] }
  return row === undefined ? null : latestDataOf(row)
}

/**
 * A market's latest period, and its latest one with a payment. Each row begins with the market, a word that says which of
 * the two it is, and the height of the event that its start is from.
 */
export const READ_PERIODS = [
  lastPeriod('latest', ''),
  lastPeriod('paid', 'and funding_payment is not null'),
].join(' union all ')

function lastPeriod(name: 'latest' | 'paid', condition: string): string {
  return `select market_id, '${name}', cast(start_height as text), ${columnList(fundingPeriods)} from (
      select market_id, start_height, ${columnNames(fundingPeriods)} from funding_periods
      where market_id = $1 ${condition}
      order by start_timestamp desc, seq desc limit 1) as ${name}_period`
}

/* The columns of a period's row. */
const indexOf = (column: string) => fundingPeriods.storage.columns.findIndex(({ name }) => name === column)
const END_COLUMN = indexOf('end_timestamp')
const SEQ_COLUMN = indexOf('seq')
const START_COLUMN = indexOf('start_timestamp')

/** A market's latest period, and its last paid one, as rows of the resource. */
export type LatestPeriods = {
  latest: Row | null
  /** The height of the event that the latest period's start is from; 0 if unknown. */
  startHeight: bigint
  paid: Row | null
}

/** Those of a market without periods. */
export const NO_PERIODS: LatestPeriods = { latest: null, startHeight: 0n, paid: null }

/** The periods of each market, from rows of {@link READ_PERIODS}. */
export function latestPeriods(rows: readonly Row[]): Map<string, LatestPeriods> {
  const markets = new Map<string, LatestPeriods>()
  for (const [marketId, which, startHeight, ...period] of rows) {
    const periods = markets.get(String(marketId)) ?? NO_PERIODS
    const added = which === 'paid' ? { paid: period } : { latest: period, startHeight: BigInt(startHeight!) }
    markets.set(String(marketId), { ...periods, ...added })
  }
  return markets
}

/** A market's latest period if it has no end. An earlier one without an end ended in blocks that are missing. */
export function runningOf({ latest }: LatestPeriods): Row | null {
  return latest?.[END_COLUMN] === null ? latest : null
}

/** The identity of a period of {@link LatestPeriods} within its market. */
export function keyOfPeriod(row: Row): { start: bigint; seq: bigint } {
  return { start: BigInt(row[START_COLUMN]!), seq: BigInt(row[SEQ_COLUMN]!) }
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

/** The estimated payment if the running period ended now, from the market's latest data; null if these have no estimate. */
export function estimateNode(data: LatestData | null, running: Row | null): object | null {
  if (data === null || running === null) return null
  const { marketId, timestamp, internalTwap, externalTwap, fundingPayment, fundingRate } = data
  const { start, seq } = keyOfPeriod(running)
  if (ENDED_STATES.includes(data.state) || data.seq !== seq) return null
  const texts = { internalTwap, externalTwap, fundingPayment, fundingRate }
  if (Object.values(texts).includes(null)) return null
  return { marketId, seq: seq.toString(), start: start.toString(), at: timestamp.toString(), ...texts }
}

/** A market's estimate, and the last block of the snapshot; null in an empty store. */
export function* readEstimate(
  marketId: string,
): Query<{ estimate: object | null; storeHead: StoreHead; version: StoreVersion } | null> {
  const [state] = yield { text: READ_STATE }
  const { storeHead, version } = stateOf(state!)
  if (storeHead === null) return null
  const data = yield* readLatestData(marketId)
  const periods = data === null ? [] : yield { text: READ_PERIODS, values: [marketId] }
  const running = runningOf(latestPeriods(periods).get(marketId) ?? NO_PERIODS)
  return { estimate: estimateNode(data, running), storeHead, version }
}
