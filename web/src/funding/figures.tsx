import { formatBasisPoints, groupDigits, groupSigned } from '../figures/format-figure.ts'
import { formatTime } from '../figures/format-time.ts'
import type { Point } from './point.ts'
import type { Moment } from './series.ts'

/** The exact figures of a moment: what both sources say there, and how far apart they are. */
export function Figures({ moment, pointed }: { moment: Moment | null; pointed: boolean }) {
  return (
    <div class="figures">
      <div class="figure">
        <span class="figure-name">{pointed ? 'At' : 'Latest in the range'}</span>
        <span class="figure-value time-value">{moment === null ? '–' : formatTime(moment.timestamp)}</span>
        <span class="figure-more">
          {moment === null ? 'no point' : `funding period ${groupDigits(moment.seq.toString())}`}
        </span>
      </div>
      <SourceFigure kind="external" name="External" point={moment?.external ?? null} />
      <SourceFigure kind="internal" name="Internal" point={moment?.internal ?? null} />
      <div class="figure difference">
        <span class="figure-name">TWAP difference</span>
        <span class="figure-value" data-figure="difference">
          {moment?.difference == null ? '–' : groupSigned(moment.difference)}
        </span>
        <span class="figure-more">
          {moment?.difference == null
            ? 'not of one period'
            : `internal − external, ${formatBasisPoints(moment.internal!.twap, moment.external!.twap) ?? ''}`}
        </span>
      </div>
    </div>
  )
}

function SourceFigure({
  kind,
  name,
  point,
}: {
  kind: 'external' | 'internal'
  name: string
  point: Point | null
}) {
  return (
    <div class={`figure ${kind}`}>
      <span class="figure-name">
        <span class="swatch" aria-hidden="true" />
        {name} TWAP
      </span>
      <span class="figure-value" data-figure={`${kind}-twap`}>
        {point === null ? '–' : groupDigits(point.twap)}
      </span>
      <span class="figure-more" data-figure={`${kind}-price`}>
        {point === null ? 'no point yet' : `price ${groupDigits(point.price)}`}
      </span>
    </div>
  )
}

/** A moment in words, for who hears the page. */
export function describeMoment({ timestamp, seq, external, internal, difference }: Moment): string {
  const of = (name: string, point: Point | null) =>
    point === null
      ? `no ${name} point`
      : `${name} price ${groupDigits(point.price)}, TWAP ${groupDigits(point.twap)}`
  return [
    `${formatTime(timestamp)} UTC, period ${seq}`,
    of('external', external),
    of('internal', internal),
    difference === null ? 'no difference' : `difference ${groupSigned(difference)}`,
  ].join('; ')
}
