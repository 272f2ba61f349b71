import { fixingFilter } from '../../../model/filters.ts'
import type { Row } from '../../../model/resource.ts'
import type { RowColumn } from '../../../model/storage.ts'
import type { PageQuery } from '../../pages/page.ts'
import { openColumns } from './page-statements.ts'

/** The answer of a page's statement: the rows, and the facts after them (`factsText` in page-statements.ts), with the state. */
export type PageAnswer = { rows: Row[]; facts: Row }

/** Parses the answer of a `rowsStatement`: one of its rows has the facts, after the columns of rows, and is removed. */
export function rowsInRows({ resource }: PageQuery, answer: Row[]): PageAnswer {
  const columns = resource.storage.columns.length
  // The first fact is never null.
  const factsAt = answer.findIndex((row) => row[columns] !== null)
  const [facts] = answer.splice(factsAt, 1)
  return { rows: answer, facts: facts!.slice(columns) }
}

/** Parses the answer of a `columnsStatement`, which is one row; null if a hash has several lines. */
export function rowsInColumns(query: PageQuery, [row]: Row[]): PageAnswer | null {
  const columns = openColumns(query)
  const [count, ...facts] = row!.slice(columns.length)
  const rows = rowsOfColumns(query, columns, row as (string | null)[], Number(count))
  return rows === null ? null : { rows, facts }
}

/**
 * Rows from the texts of their open columns (see `columnsText` in page-statements.ts): a line for each row, empty for null.
 * Null if a hash has several lines.
 */
function rowsOfColumns(
  { resource, selection }: PageQuery,
  open: readonly RowColumn[],
  texts: readonly (string | null)[],
  count: number,
): Row[] | null {
  if (count === 0) return []
  const columns: (readonly (string | number | null)[])[] = []
  for (const column of resource.storage.columns) {
    const { name, type } = column
    const fixing = fixingFilter(resource, selection, name)
    const values =
      fixing === undefined
        ? valuesOf(texts[open.indexOf(column)]!, type)
        : Array(count).fill((type === 'small' ? Number : String)(selection[fixing.name]))
    if (values.length > count) return null
    columns.push(values)
  }
  const rows: Row[] = []
  for (let index = 0; index < count; index++) {
    const row = new Array<string | number | null>(columns.length)
    for (let column = 0; column < row.length; column++) row[column] = columns[column]![index]!
    rows.push(row)
  }
  return rows
}

function valuesOf(text: string, type: RowColumn['type']): (string | number | null)[] {
  const values = text.split('\n')
  if (type === 'small') return values.map(Number)
  if (type === 'hash' || !hasEmptyLine(text)) return values
  return values.map((value) => (value === '' ? null : value))
}

function hasEmptyLine(text: string): boolean {
  return text === '' || text.startsWith('\n') || text.endsWith('\n') || text.includes('\n\n')
}
