import { formatMinute } from '../../figures/format-time.ts'
import { isOutdated } from '../../service/freshness.ts'

/** The time of a figure that is not that of now, while the service is behind or does not answer; today's without the date. */
export function AsOf({ time }: { time: bigint | string }) {
  if (!isOutdated.value) return null
  const text = formatMinute(time)
  const isToday = text.startsWith(new Date().toISOString().slice(0, 10))
  return (
    <span class="under as-of" title={`${text} UTC`} data-figure="as-of">
      as of {isToday ? text.slice(11) : text} UTC
    </span>
  )
}
