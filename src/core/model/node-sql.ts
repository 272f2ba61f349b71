import { type Field, namesOf } from './field.ts'
import { type ConstantPart, constant, type NodePart, objectParts, type ValuePart } from './node-parts.ts'

/** A part of SQL that results in a text: a constant, or an expression over a row. */
export type SqlPart = ConstantPart | { sql: string }

/**
 * The text that `nodeWriter` (node-json.ts) writes, as parts that SQLite joins. The result is on one line only after
 * `bytesOnOneLine`, which examines all rows at once.
 *
 * @param known values of columns that are the same for all rows, by name
 */
export function nodeSql(fields: readonly Field[], known: Readonly<Record<string, string>>): SqlPart[] {
  const sqlPart = (part: NodePart): SqlPart => {
    if ('constant' in part) return part
    const { column } = part
    if ('form' in part) return valueSql(part, known[column])
    const none = sqlText(part.ifNull)
    return { sql: `case when ${column} is null then ${none} else ${joinSql(part.parts.map(sqlPart))} end` }
  }
  return objectParts(fields).map(sqlPart)
}

/** The value of a column; `known` is that value if it is the same for all rows. */
function valueSql({ form, column }: ValuePart, known: string | undefined): SqlPart {
  if (form === 'text') return { sql: `json_quote(${column})` }
  if (form === 'boolean') return { sql: `case ${column} when 1 then 'true' else 'false' end` }
  const names = namesOf(form)
  if (names === null) return { sql: column }
  if (known !== undefined) return constant(names[Number(known)]!)
  return {
    sql: `case ${column} ${names.map((name, number) => `when ${number} then '${name}'`).join(' ')} end`,
  }
}

/** The parts of one row's text as one expression; no constant may depend on the scope. */
function joinSql(parts: readonly SqlPart[]): string {
  return `concat(${parts.map((part) => ('sql' in part ? part.sql : sqlText(part.constant('')))).join(', ')})`
}

/** A text as an SQL literal. */
export function sqlText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}
