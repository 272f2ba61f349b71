import { cutToMicrosecond } from '#core/domain/time'
import { count } from '#core/domain/words'
import { compareResourceKeys } from '#core/model/resource'
import { CompareError } from './compare-error.ts'
import type { RowsCompared } from './cover.ts'
import type { ComparedRow } from './side.ts'

/** Maximum number of rows with the same value in the first column of their keys. A service that sends more is faulty. */
const MAX_GROUP_ROWS = 100_000

/**
 * Rows in the order of their whole key, without repetitions. Only rows with one value in its first column are in memory.
 */
export async function* inOrder(
  chunks: AsyncIterable<readonly ComparedRow[]>,
  name: string,
): AsyncGenerator<ComparedRow[], void, undefined> {
  let group: ComparedRow[] = []
  const whole = () => {
    const sorted = group.sort(
      (x, y) => compareResourceKeys(x.key, y.key) || compareResourceKeys(x.exact ?? [], y.exact ?? []),
    )
    // If times are cut, two rows with one key are a repetition only if they are equal.
    return sorted.filter((row, index) => {
      const before = sorted[index - 1]
      if (before === undefined || compareResourceKeys(row.key, before.key) !== 0) return true
      return row.exact !== undefined && canonical(row.node) !== canonical(before.node)
    })
  }
  for await (const rows of chunks) {
    for (const row of rows) {
      const order = group.length === 0 ? 0 : compareResourceKeys([row.key[0]!], [group[0]!.key[0]!])
      // A page of the reference begins with rows with which the previous page has ended.
      if (order < 0) continue
      if (order > 0) {
        yield whole()
        group = []
      }
      group.push(row)
      if (group.length > MAX_GROUP_ROWS) group = whole()
      if (group.length > MAX_GROUP_ROWS) {
        throw new CompareError(`${name}: more than ${count(MAX_GROUP_ROWS)} rows under one key`)
      }
    }
  }
  if (group.length > 0) yield whole()
}

/** Rows with times cut to the microsecond, if one side is a data node of the reference, which stores no more digits. */
export async function* cutToMicroseconds(
  chunks: AsyncIterable<readonly ComparedRow[]>,
  { a, b, resource }: RowsCompared,
): AsyncGenerator<readonly ComparedRow[], void, undefined> {
  if (!resource.dateRange || !(a.isReference || b.isReference)) return yield* chunks
  for await (const rows of chunks) {
    yield rows.map((row) => {
      const [time, ...rest] = row.key
      return { ...row, key: [cutToMicrosecond(time as bigint), ...rest], exact: row.key }
    })
  }
}

/** A value as JSON, with the fields of objects sorted by name. */
export function canonical(value: unknown): string {
  return (
    JSON.stringify(value, (_, inner: unknown) =>
      typeof inner === 'object' && inner !== null && !Array.isArray(inner)
        ? Object.fromEntries(Object.entries(inner).sort(([x], [y]) => (x < y ? -1 : 1)))
        : inner,
    ) ?? 'undefined'
  )
}
