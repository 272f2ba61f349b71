import type { ComponentChildren } from 'preact'
import { formatAge, formatDay, formatLocal, formatMinute } from '../../figures/format-time.ts'
import { now } from '../../service/clock.ts'
import { freshness, isBehind, isCurrent, isOutdated } from '../../service/freshness.ts'

export type DueTimeProps = { due: bigint; last: bigint; children?: ComponentChildren }

/**
 * When something is due: the time and the date, and the time on the reader's clocks unless these show UTC. While blocks arrive, it
 * also says how long that is from now, without the date on the day of the last block. If the service is behind or does not
 * answer, the time may have passed, and is grey; if it is behind, also for how long.
 *
 * @param last the time of the last block
 * @param children text beneath
 */
export function DueTime({ due, last, children }: DueTimeProps) {
  const from = freshness.value.state === 'live' ? BigInt(now.value) * 1_000_000n : last
  const text = formatMinute(due)
  const isToday = isCurrent.value && text.startsWith(formatDay(last))
  const late = BigInt(now.value) * 1_000_000n - due
  const local = formatLocal(due)
  const left = due > from ? `in ${formatAge(due - from)}` : 'with the next block'
  return (
    <span class={isOutdated.value ? 'stale' : undefined} data-figure="due">
      <time dateTime={text} title={`${text} UTC`}>
        {text.slice(11)} UTC
      </time>
      {!isToday && <span class="under">{text.slice(0, 10)}</span>}
      {local !== null && <span class="under">{local} here</span>}
      {isCurrent.value && <span class="under">{left}</span>}
      {isBehind.value && late > 0n && <span class="under">overdue by {formatAge(late)}</span>}
      {children}
    </span>
  )
}
