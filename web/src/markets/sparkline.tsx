import { useEffect, useRef, useState } from 'preact/hooks'
import { DAY, SECOND } from '../../../src/core/domain/time.ts'
import { gapShades } from '../charts/gap-times.ts'
import { formatSecond, formatSpan } from '../figures/format-time.ts'
import { breaksOf, drawn, type Range, readSeries, type Series } from '../series/series.ts'
import { lyra } from '../service/lyra.ts'
import { missingOf } from '../service/missing.ts'
import { useQuery } from '../service/use-query.ts'

/** Steps of a line, and how often it is asked for again. */
const BUCKETS = 60
const REFRESH_NS = 300n * SECOND

const [WIDTH, HEIGHT] = [120, 30]

export type SparklineProps = {
  marketId: string
  name: string
  /** When the market's points begin; null if it has none. */
  first: bigint | null
  /** The time of the last block. */
  last: bigint
}

/** The last 24 hours of a market's internal price, or as much as there is; asked for once the row is seen. */
export function Sparkline({ marketId, name, first, last }: SparklineProps) {
  const place = useRef<HTMLSpanElement>(null)
  const [seen, setSeen] = useState(false)
  useEffect(() => {
    const watch = new IntersectionObserver((entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) setSeen(true)
    })
    watch.observe(place.current!)
    return () => watch.disconnect()
  }, [])
  const begin = last - DAY
  const from = first !== null && first > begin ? first : begin
  const { data, staleSince } = useQuery(
    seen && first !== null ? marketId : null,
    async (signal) =>
      readSeries(await lyra.series(marketId, { from, to: last + 1n, buckets: BUCKETS, signal })),
    { version: `${first} ${last / REFRESH_NS}` },
  )
  const gaps = gapShades(missingOf('fundingPeriodDataPoints', { from, to: last + 1n }).missing)
  const path = data === null ? null : pathOf(data, gaps)
  return (
    <span
      class={staleSince === null ? 'sparkline' : 'sparkline stale'}
      title={staleSince === null ? undefined : `As of ${formatSecond(BigInt(staleSince) * 1_000_000n)} UTC`}
      ref={place}
    >
      {path !== null && (
        <svg
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          width={WIDTH}
          height={HEIGHT}
          role="img"
          aria-label={path.label(name)}
        >
          <path d={path.d} class={path.change < 0 ? 'fell' : 'rose'} />
        </svg>
      )}
      {path !== null && (
        <span class="sparkline-change">
          {path.text} <span class="under">in {path.span}</span>
        </span>
      )}
    </span>
  )
}

/** A line of the prices, external if there is no internal one, broken where blocks are missing, and the change from first to last. */
function pathOf({ external, internal, bucket }: Series, gaps: readonly Range[]) {
  const buckets = internal.length > 0 ? internal : external
  const [begin, end] = [buckets[0], buckets.at(-1)]
  const from = drawn(begin?.price.first, 0)
  const to = drawn(end?.price.last, 0)
  if (begin === undefined || end === undefined || from === null || to === null) return null
  const prices = buckets.map(({ price }) => drawn(price.last, 0) ?? from)
  const [least, most] = [Math.min(...prices), Math.max(...prices)]
  const length = Number(end.start - begin.start) || 1
  const points = buckets.map(({ start }, index) => {
    const x = (Number(start - begin.start) / length) * (WIDTH - 2) + 1
    const y =
      most === least ? HEIGHT / 2 : HEIGHT - 2 - ((prices[index]! - least) / (most - least)) * (HEIGHT - 4)
    return `${x.toFixed(1)} ${y.toFixed(1)}`
  })
  const change = from === 0 ? 0 : to / from - 1
  const percent = (change * 100).toFixed(1)
  const text = `${Number(percent) > 0 ? '+' : ''}${Number(percent) === 0 ? '0.0' : percent} %`
  const covered = end.start + bucket - begin.start
  const span = covered >= (DAY / 100n) * 98n ? '24 h' : formatSpan(covered)
  return {
    d:
      points.length === 1 ? `M1 ${HEIGHT / 2}H${WIDTH - 1}` : lineOf(points, breaksOf(buckets, bucket, gaps)),
    change,
    text,
    span,
    label: (name: string) => `${name}: price in the last ${span}, ${text}`,
  }
}

/** A line through points, which is broken after those of these indexes. */
function lineOf(points: readonly string[], breaks: ReadonlySet<number>): string {
  return points.map((point, index) => `${index === 0 || breaks.has(index - 1) ? 'M' : 'L'}${point}`).join('')
}
