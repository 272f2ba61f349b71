import type { Range } from '../series/series.ts'

/** A bar of the chart of rates: from zero to a value, over the time of its period. */
export type Bar = Range & {
  value: number | null
  /** Whether it is the estimate of the running period: outlined, not filled. */
  estimate: boolean
}
