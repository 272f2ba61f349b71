import { groupDigits } from '../figures/format-figure.ts'
import { formatSpan } from '../figures/format-time.ts'
import type { FundingData } from './feed.ts'
import { MAX_PERIODS, periodsOf } from './periods.ts'
import { lastAtOrBefore, secondsOf } from './point.ts'
import type { LoadedPoints } from './point-loader.ts'
import type { Range } from './tiles.ts'

/** Says which of the points there are the charts show. */
export function DensityNote({ data, range }: { data: FundingData; range: Range }) {
  const sources = [
    ['external', data.external],
    ['internal', data.internal],
  ] as const
  const [first, last] = [secondsOf(range.from), secondsOf(range.to)]
  const isWithin = (x: number) => x >= first && x < last
  const sampled = sources.some(([, { sampleStep }]) => sampleStep !== null)
  const undrawn = sources.some(([, { points }]) =>
    points.some(({ drawnTwap, x }) => drawnTwap === null && isWithin(x)),
  )
  const periods = periodsOf(data.moments, range.to).length
  return (
    <p class={`density ${sampled ? 'sampled' : ''}`}>
      {sources.map(([name, points], index) => (
        <span key={name}>
          {index > 0 && '; '}
          {describe(name, points, range)}
        </span>
      ))}
      .{sampled && ' Zoom in to see every point. Funding periods are drawn by the points shown.'}
      {undrawn && ' A TWAP of 0, where the market has been in auction all the time, is not drawn.'}
      {periods > MAX_PERIODS &&
        ` ${groupDigits(String(periods))} funding periods are too many to be drawn as bands.`}
    </p>
  )
}

function describe(name: string, { points, sampleStep }: LoadedPoints, { from, to }: Range): string {
  const count = lastAtOrBefore(points, to - 1n) - lastAtOrBefore(points, from - 1n)
  const shown = groupDigits(String(count))
  if (sampleStep === null)
    return `${count === 1 ? 'the one' : `all ${shown}`} ${name} point${count === 1 ? '' : 's'}`
  return `${shown} ${name} points, where they are many only the last of each ${formatSpan(sampleStep)}`
}
