import type { Cell, ColumnType } from '../../../model/columns.ts'
import type { TableRow } from '../../../model/table.ts'
import type { Table } from '../../schema/tables.ts'

/** PostgreSQL's names of column types. */
const COLUMN_TYPES: Record<ColumnType, string> = {
  integer: 'bigint',
  text: 'text',
  digits: 'text',
  boolean: 'boolean',
}

/** The beginning of an `insert`, with its rows; the conflict clause follows. */
export type Insert = {
  text: string
  values: Cell[]
  /** Whether the same text is used repeatedly, so that it is prepared. */
  isFixed: boolean
}

const head = ({ name, columns }: Table) =>
  `insert into ${name} (${columns.map((column) => column.name).join(', ')})`

/** The rows, as one array for each column. */
export function insertOfArrays(table: Table, rows: readonly TableRow[]): Insert {
  const { columns } = table
  const arrays = columns.map(({ type }, index) => `$${index + 1}::${COLUMN_TYPES[type]}[]`).join(', ')
  return {
    text: `${head(table)} select * from unnest(${arrays})`,
    values: columns.map(({ name }) => arrayText(rows, name)),
    isFixed: true,
  }
}

/** The cells of a column as the text of an array. The driver's own conversion takes several times as long. */
function arrayText(rows: readonly TableRow[], name: string): string {
  let text = ''
  let last: Cell | undefined
  let lastText = ''
  for (const row of rows) {
    const cell = row[name]!
    // Markets, periods and blocks are mostly the same as in the previous row.
    if (cell !== last) {
      last = cell
      lastText = elementText(cell)
    }
    text += text === '' ? lastText : `,${lastText}`
  }
  return `{${text}}`
}

/** Texts that need no quotes in an array. The word `null` needs them. */
const UNQUOTED = /^(?!null$)[\w.+-]+$/i

function elementText(cell: Cell): string {
  if (cell === null) return 'null'
  const text = String(cell)
  return typeof cell !== 'string' || UNQUOTED.test(text) ? text : `"${text.replaceAll(/[\\"]/g, '\\$&')}"`
}

/** The rows, with a parameter for each value. */
export function insertOfValues(table: Table, rows: readonly TableRow[]): Insert {
  const values: Cell[] = []
  const lists = rows.map((row) => {
    const cells = table.columns.map(({ name, type }) => `$${values.push(row[name]!)}::${COLUMN_TYPES[type]}`)
    return `(${cells.join(', ')})`
  })
  return { text: `${head(table)} values ${lists.join(', ')}`, values, isFixed: false }
}
