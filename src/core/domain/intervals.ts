import { SECOND } from './time.ts'

/** The interval lengths of series: their names, and nanoseconds. */
const UNIT_SECONDS = { s: 1n, m: 60n, h: 3_600n, d: 86_400n } as const

const INTERVAL_NAMES = [
  '1s',
  '2s',
  '5s',
  '10s',
  '15s',
  '30s',
  '1m',
  '2m',
  '5m',
  '10m',
  '15m',
  '30m',
  '1h',
  '2h',
  '4h',
  '8h',
  '12h',
  '1d',
  '2d',
  '7d',
  '14d',
  '28d',
  '91d',
  '365d',
]

export type Interval = { name: string; nanoseconds: bigint }

/** Shortest first. */
export const INTERVALS: readonly Interval[] = INTERVAL_NAMES.map((name) => ({
  name,
  nanoseconds: BigInt(name.slice(0, -1)) * UNIT_SECONDS[name.at(-1) as keyof typeof UNIT_SECONDS] * SECOND,
}))
