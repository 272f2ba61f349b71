import type { Query } from '../../queries-protocol.ts'
import type { NamedColumn, Table, TextCell } from '../../schema/tables.ts'
import { textOf } from '../../statements.ts'

/** A text that is longer than any that an event can contain. */
type LongText = {
  /** The row's key, with `...` in place of long texts. */
  key: readonly TextCell[]
  column: string
  bytes: bigint
  /** Maximum length of such a text in an event, in characters. */
  maxLength: number
}

/** Maximum bytes of a character in UTF-8. */
const CHARACTER_BYTES = 4

/** Maximum number of rows that are returned for each table. */
const MAX_ROWS = 100n

/**
 * Finds texts of a table that no event can contain, in up to 100 of its rows. Both databases know the number of a text's
 * bytes without reading it; characters are counted only for texts that may be short enough.
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

/** Without a cast, because SQLite would have to read the text for one. */
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
