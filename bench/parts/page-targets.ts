import { encodeCursor } from '#core/resources/cursor'
import { fundingPeriodDataPoints } from '#core/resources/funding-period-data-points/description'
import { LARGE_MARKET, largeStoreTimes, PERIOD_SECONDS } from '../stores/large-store.ts'

/** The list of the points of a large store. */
export const POINTS_PATH = `/api/v2/funding-periods/data-points/${LARGE_MARKET}`

/** Gives requests for pages of a large store, each from another place. */
export type PageTargets = {
  /** From anywhere. */
  anywhere(first: number, filter?: string): () => string
  /** From the first or the last hundredth of the rows, newest first. */
  near(end: 'newest' | 'oldest', first: number): () => string
  /** The newest 100 points of any one funding period. */
  ofPeriod(): () => string
}

export function pageTargets(points: number): PageTargets {
  const { first: start, last } = largeStoreTimes(points)
  const seconds = Number(last - start)
  const periods = Math.floor(points / PERIOD_SECONDS)
  let turn = 0

  /** A cursor at a share of the way from the oldest row to the newest; the turn makes each another one. */
  function cursorAt(share: number): string {
    const second = start + BigInt(Math.floor(share * seconds))
    return encodeCursor(fundingPeriodDataPoints, { marketId: LARGE_MARKET }, [
      second * 1_000_000_000n,
      BigInt(turn++ % 1_000_000),
      2n,
    ])
  }

  return {
    anywhere:
      (first, filter = '') =>
      () =>
        `${POINTS_PATH}?pagination.first=${first}${filter}&pagination.after=${cursorAt(anyShare())}`,
    near: (end, first) => () => {
      // The last page begins where exactly so many rows are left.
      const share =
        end === 'newest' ? 1 - 0.01 * Math.random() : (first + 2 + 1_000 * Math.random()) / seconds
      return `${POINTS_PATH}?pagination.first=${first}&pagination.after=${cursorAt(share)}`
    },
    ofPeriod: () => () =>
      `${POINTS_PATH}?pagination.first=100&seq=${1 + Math.floor(Math.random() * periods)}`,
  }
}

/** Requests to a plain server (peers) for pages from anywhere in a copy of a large store. */
export function plainTargets(points: number, first: number): () => string {
  const { first: start, last } = largeStoreTimes(points)
  const seconds = Number(last - start)
  return () => {
    const second = start + BigInt(Math.floor(anyShare() * seconds))
    return `/points/${LARGE_MARKET}?pagination.first=${first}&pagination.after=${second}000000000.0.2`
  }
}

/** Anywhere but in the oldest rows, of which a page would not be whole. */
function anyShare(): number {
  return 0.02 + 0.98 * Math.random()
}
