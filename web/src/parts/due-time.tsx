import { formatAge, formatTime } from '../figures/format-time.ts'
import { freshness } from '../service/freshness.ts'
import { now } from './clock.ts'

/**
 * When something is due: the time and the date; while blocks arrive also how long that is from now, and on the day of the last
 * block no date.
 *
 * @param last the time of the last block
 */
export function DueTime({ due, last }: { due: bigint; last: bigint }) {
  const { state } = freshness.value
  const from = state === 'live' ? BigInt(now.value) * 1_000_000n : last
  const text = formatTime(due).slice(0, 16)
  const isFollowing = state === 'live' || state === 'receiving'
  const isToday = isFollowing && text.startsWith(formatTime(last).slice(0, 10))
  const left = due > from ? `in ${formatAge(due - from)}` : 'with the next block'
  return (
    <>
      <time dateTime={text} title={`${text} UTC`}>
        {text.slice(11)} UTC
      </time>
      {!isToday && <span class="under">{text.slice(0, 10)}</span>}
      {isFollowing && <span class="under">{left}</span>}
    </>
  )
}
