import type { Query } from '../pages/page.ts'
import type { NamedColumn, Table, TextCell } from '../schema/tables.ts'
import { textOf } from '../statements.ts'

/** A text that is longer than any that an event can bring. */
type LongText = {
  /** The row's key, with `...` in place of long texts. */
  key: readonly TextCell[]
  column: string
  bytes: bigint
  /** The most that an event can bring, in characters. */
  maxLength: number
}

/** Bytes of a character at most, in UTF-8. */
const CHARACTER_BYTES = 4

/** Rows that are returned for each table. */
const MAX_ROWS = 100n

/**
 * Finds texts of a table that no event can bring, in up to 100 of its rows. The number of a text's bytes is known to both
 * databases without reading it; of its characters only those of the shorter ones are counted.
 */
export function* readLongTexts(table: Table): Query<LongText[]> {
  const limited = table.columns.filter(({ maxLength }) => Number.isFinite(maxLength))
  if (limited.length === 0) return []
  const keys = table.columns.slice(0, table.keyLength).map(keyText)
  const lengths = limited.map(
    (column) => `cast(case when ${isLong(column)} then ${bytesOf(column)} end as text)`,
  )
  const rows = yield {
    text: `select ${[...keys, ...lengths].join(', ')} from ${table.name} where ${limited.map(isLong).join(' or ')} limit $1`,
    values: [MAX_ROWS],
  }
  return rows.flatMap((row) => {
    const cells = row as readonly TextCell[]
    return limited.flatMap(({ name, maxLength }, index) => {
      const bytes = cells[table.keyLength + index]
      if (bytes == null) return []
      return { key: cells.slice(0, table.keyLength), column: name, bytes: BigInt(bytes), maxLength }
    })
  })
}

/** Without a cast: SQLite would read the text for that. */
const bytesOf = ({ name }: NamedColumn) => `octet_length(${name})`

const isLong = (column: NamedColumn) => {
  const { name, maxLength } = column
  return `(case when ${bytesOf(column)} > ${CHARACTER_BYTES * maxLength} then 1 when ${bytesOf(column)} > ${maxLength}
    and length(${name}) > ${maxLength} then 1 else 0 end = 1)`
}

const keyText = (column: NamedColumn) => {
  const { name, type, maxLength } = column
  if (type !== 'text') return textOf(name)
  return Number.isFinite(maxLength) ? `case when ${isLong(column)} then '...' else ${name} end` : name
}
