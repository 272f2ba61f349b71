import { formatTime } from '../figures/format-time.ts'
import { isBehind } from '../service/freshness.ts'

/** The time of a figure that is not that of now: while the service says that it is behind. */
export function AsOf({ time }: { time: bigint | string }) {
  if (!isBehind.value) return null
  return (
    <span class="under" data-figure="as-of">
      as of {formatTime(time).slice(0, 16)} UTC
    </span>
  )
}
