import type { HeightRange, InText } from '#core/domain/height-ranges'
import { type Missing, MOST_MISSING } from '#core/domain/missing'
import { count } from '#core/domain/words'
import { listOf, named, nullable, objectOf, valueSchema } from './node-schemas.ts'
import type { JsonSchema } from './question.ts'

/** The fields of an answer that say what the store does not have of the rows from which it follows. */
export const MISSING_SCHEMAS: Readonly<Record<keyof Missing, JsonSchema>> = {
  missing: listOf(
    named(
      'MissingBlocks',
      objectOf({
        from: valueSchema('integer', 'First block.'),
        to: valueSchema('integer', 'Last block.'),
        start: nullable(
          valueSchema(
            'time',
            'Time of the last stored block before them, Unix nanoseconds. Null if it is unknown: they may be of any earlier time.',
          ),
        ),
        end: nullable(
          valueSchema(
            'time',
            'Time of the first stored block after them, Unix nanoseconds. Null if it is unknown: they may be of any later time.',
          ),
        ),
      }),
    ),
    `Blocks that are missing or incomplete, and imported ones without the resource: what they contain is not in the answer. At most the last ${count(MOST_MISSING)} ranges.`,
  ),
  since: nullable(
    named(
      'StoredSince',
      objectOf({
        height: valueSchema('integer', 'The block from which on the store has everything.'),
        start: nullable(valueSchema('time', 'Time of that block, Unix nanoseconds. Null if it is unknown.')),
      }),
    ),
  ),
}

/** The same fields in an answer: 64-bit integers are text. */
type MissingText = {
  missing: (InText<HeightRange> & { start: string | null; end: string | null })[]
  since: { height: string; start: string | null } | null
}

/** What an answer may be without, as its fields say it. */
export function missingText({ missing, since }: Missing): MissingText {
  const timeText = (time: bigint | null) => time?.toString() ?? null
  return {
    missing: missing.map(({ from, to, start, end }) => ({
      from: from.toString(),
      to: to.toString(),
      start: timeText(start),
      end: timeText(end),
    })),
    since: since === null ? null : { height: since.height.toString(), start: timeText(since.start) },
  }
}

/** So many ranges of missing blocks are named in a header, which clients limit. */
const MOST_IN_HEADER = 100

/** What an answer may be without, as headers of a file: none if nothing is missing. */
export function missingHeaders({ missing, since }: Missing): Record<string, string> {
  const ranges = missing.slice(-MOST_IN_HEADER).map(({ from, to }) => `${from}-${to}`)
  return {
    ...(ranges.length > 0 && { 'X-Missing-Blocks': ranges.join(', ') }),
    ...(since !== null && { 'X-Since': `${since.height}` }),
  }
}
