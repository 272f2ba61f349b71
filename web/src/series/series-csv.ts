import { csvOf } from '../parts/csv.ts'
import type { Bucket, Moment, Range } from './series.ts'

const STATISTICS = ['first', 'last', 'minimum', 'maximum'] as const

/** The buckets of a range as CSV: exact texts as sent, empty if a source has no point. */
export function seriesCsv(moments: readonly Moment[], bucket: bigint, { from, to }: Range): string {
  const columns = (source: string) => [
    `${source}Seq`,
    `${source}Count`,
    ...['Price', 'Twap'].flatMap((value) =>
      STATISTICS.map((name) => `${source}${value}${name[0]!.toUpperCase()}${name.slice(1)}`),
    ),
  ]
  const cells = (own: Bucket | null, start: bigint) =>
    own === null || own.start !== start
      ? columns('').map(() => null)
      : [
          `${own.seq}`,
          `${own.count}`,
          ...[own.price, own.twap].flatMap((value) => STATISTICS.map((name) => value[name])),
        ]
  return csvOf(
    ['start', 'intervalNanoseconds', ...columns('external'), ...columns('internal')],
    moments
      .filter(({ start }) => start < to && start + bucket > from)
      .map(({ start, external, internal }) => [
        `${start}`,
        `${bucket}`,
        ...cells(external, start),
        ...cells(internal, start),
      ]),
  )
}
