import type { Row } from '../../../model/resource.ts'
import { fundingPeriodDataPoints } from '../../../resources/funding-period-data-points/description.ts'
import { fundingPeriods } from '../../../resources/funding-periods/description.ts'
import { instruments } from '../../../resources/instruments/description.ts'
import type { Query } from '../../queries-protocol.ts'
import { estimateNode } from '../estimates/funding-estimate.ts'
import { marketDataNode } from '../market-data.ts'
import { keyOfPeriod, type LatestPeriods, runningOf } from '../periods/latest-periods.ts'
import { NO_AVERAGES, type RateAverages, readRateAverages } from '../periods/rate-averages.ts'
import { type AdjacentMarkets, readSummaryParts, type SummaryParts } from './summary-parts.ts'

/** The facts of a snapshot on which all summaries depend. */
export type SummaryMoment = {
  /** Time of the store head, Unix nanoseconds. */
  at: bigint
  /** The last block of a gap; null if there is none. */
  lastGap: bigint | null
}

/** A market's summary as a row, and its averages, which stay valid for longer than the other parts. */
type ReadSummary = { row: Row; averages: RateAverages }

/**
 * Reads the summaries of markets.
 *
 * @param validAverages averages that need not be calculated again
 */
export function* readSummaries(
  groups: readonly AdjacentMarkets[],
  validAverages: ReadonlyMap<string, RateAverages>,
  { at, lastGap }: SummaryMoment,
): Query<Map<string, ReadSummary>> {
  const parts = yield* readSummaryParts(groups)
  const summaries = new Map<string, ReadSummary>()
  for (const marketId of groups.flat()) {
    const running = runningOf(parts.periods.get(marketId)!)
    const averages = validAverages.get(marketId) ?? (yield* readRateAverages(marketId, running, at))
    summaries.set(marketId, { row: rowOf(marketId, summaryOf(marketId, parts, averages, lastGap)), averages })
  }
  return summaries
}

/** The fields of a market's summary: the JSON of other nodes, null if there is none, and the number of providers. */
type Summary = {
  instrument: string | null
  runningPeriod: string | null
  lastPaidPeriod: string | null
  estimate: string | null
  lastExternalPoint: string | null
  lastInternalPoint: string | null
  marketData: string | null
  averages: string
  providers: string
}

/** Combines the parts of one market's summary. */
function summaryOf(
  marketId: string,
  parts: SummaryParts,
  averages: RateAverages,
  lastGap: bigint | null,
): Summary {
  const number = parts.numbers.get(marketId)!
  const instrument = parts.instruments.get(marketId)
  const data = parts.marketData.get(marketId) ?? null
  const periods = parts.periods.get(marketId)!
  const running = runningOf(periods)
  const isLatest = isLatestPeriod(periods, [parts.lastSeqsByNumber.get(number), data?.highestSeq])
  const areComplete = isLatest && (lastGap === null || lastGap < periods.startHeight)
  const lastPoints = parts.lastPointsByNumber.get(number) ?? []
  return {
    instrument: instrument === undefined ? null : instruments.node(instrument, {}),
    runningPeriod: isLatest ? periodNode(marketId, running) : null,
    lastPaidPeriod: periodNode(marketId, periods.paid),
    estimate: jsonOrNull(estimateNode(data, running)),
    lastExternalPoint: pointNode(marketId, lastPoints, 1),
    lastInternalPoint: pointNode(marketId, lastPoints, 2),
    marketData: jsonOrNull(data === null ? null : marketDataNode(data)),
    averages: JSON.stringify(areComplete ? averages.node : NO_AVERAGES),
    providers: parts.providers.get(marketId) ?? '0',
  }
}

/** The row of a summary: its fields in the order of the resource's description (resources/market-summaries.ts). */
function rowOf(marketId: string, summary: Summary): Row {
  return [
    marketId,
    summary.instrument,
    summary.runningPeriod,
    summary.lastPaidPeriod,
    summary.estimate,
    summary.lastExternalPoint,
    summary.lastInternalPoint,
    summary.marketData,
    summary.averages,
    summary.providers,
  ]
}

/**
 * Whether a market's latest stored period is its latest one, as far as other rows say.
 *
 * @param seqs the latest period that data points and market data name
 */
function isLatestPeriod(
  { latest }: LatestPeriods,
  seqs: readonly (string | bigint | null | undefined)[],
): boolean {
  if (latest === null) return false
  const { seq } = keyOfPeriod(latest)
  return seqs.every((namedSeq) => namedSeq == null || BigInt(namedSeq) <= seq)
}

function periodNode(marketId: string, row: Row | null): string | null {
  return row === null ? null : fundingPeriods.node(fundingPeriods.finalRow!(row), { marketId })
}

/** The column with the source in a row of a last point, which begins with the market's number. */
const SOURCE_COLUMN = 1 + fundingPeriodDataPoints.storage.columns.findIndex(({ name }) => name === 'source')

/** The node of the point of a source, among a market's last points; null if it has none. */
function pointNode(marketId: string, lastPoints: readonly Row[], source: number): string | null {
  const row = lastPoints.find((point) => point[SOURCE_COLUMN] === source)
  return row === undefined ? null : fundingPeriodDataPoints.node(row.slice(1), { marketId })
}

const jsonOrNull = (node: object | null) => (node === null ? null : JSON.stringify(node))
