import type { FundingPeriodDataPoint } from 'lyra-client'
import { approximate, parseDecimal } from '../figures/decimal.ts'

/** The sources that a chart shows; points of no source are in the table only. */
export const SOURCES = ['SOURCE_EXTERNAL', 'SOURCE_INTERNAL'] as const

export type Source = (typeof SOURCES)[number]

export const SOURCE_NAMES: Record<FundingPeriodDataPoint['dataPointType'], string> = {
  SOURCE_EXTERNAL: 'External',
  SOURCE_INTERNAL: 'Internal',
  SOURCE_UNSPECIFIED: 'Unspecified',
}

/** A data point as charts take it: what is shown as the API's text, what is drawn as doubles. */
export type Point = {
  /** Unix nanoseconds. */
  timestamp: bigint
  seq: bigint
  price: string
  twap: string
  /** Seconds, for places on the screen. */
  x: number
  drawnPrice: number | null
  drawnTwap: number | null
}

export function readPoint(row: FundingPeriodDataPoint): Point {
  const timestamp = BigInt(row.timestamp)
  return {
    timestamp,
    seq: BigInt(row.seq),
    price: row.price,
    twap: row.twap,
    x: secondsOf(timestamp),
    drawnPrice: drawn(row.price),
    // Without time outside auctions there is no mean, and the network says 0.
    drawnTwap: drawn(row.twap) || null,
  }
}

/** Nanoseconds as seconds in a double: right to the microsecond. */
export function secondsOf(ns: bigint): number {
  return Number(ns / 1_000n) / 1e6
}

/** Seconds in a double as nanoseconds. */
export function nanosecondsOf(seconds: number): bigint {
  return BigInt(Math.round(seconds * 1e6)) * 1_000n
}

/** The order of the API: by time, then by funding period. */
export function comparePoints(left: Point, right: Point): number {
  if (left.timestamp !== right.timestamp) return left.timestamp < right.timestamp ? -1 : 1
  return left.seq < right.seq ? -1 : left.seq > right.seq ? 1 : 0
}

/** Points of one source in order, each once; of two that are the same, the later one in the lists stands. */
export function mergePoints(...lists: readonly (readonly Point[])[]): Point[] {
  const sorted = lists.flat().sort(comparePoints)
  return sorted.filter(
    (point, index) => index + 1 === sorted.length || comparePoints(point, sorted[index + 1]!) !== 0,
  )
}

/** The index of the last point at or before a time; -1 where all are later. */
export function lastAtOrBefore(points: readonly { timestamp: bigint }[], timestamp: bigint): number {
  let low = 0
  let high = points.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (points[middle]!.timestamp <= timestamp) low = middle + 1
    else high = middle
  }
  return low - 1
}

function drawn(text: string): number | null {
  const number = parseDecimal(text)
  return number === null ? null : approximate(number)
}
