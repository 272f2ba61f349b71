import { fixingFilter } from '../../../model/filters.ts'
import type { Resource } from '../../../model/resource.ts'
import type { RowColumn } from '../../../model/storage.ts'
import { READ_STATE, STATE_COLUMNS } from '../../changes.ts'
import type { PageScans, Scan } from '../../pages/scan.ts'
import { columnNames, existsText, POSTGRES_HINTS, rowsText } from '../../pages/scan-sql.ts'
import { type Placeholders, shapeOf, templateOf } from '../../pages/statement-template.ts'
import type { Statement } from '../../queries-protocol.ts'

/* The pages of PostgreSQL, which returns their rows, or the columns of these, together with the store's state. */

/** The number of rows that a page's statement returns, and whether it returns the store's state. */
type Returned = { limit: number; withState: boolean }

/**
 * The statement that returns a page on PostgreSQL as one row: the columns of its first `limit` rows and their number, then
 * the facts (see {@link factsText}), then the store's state. One statement is one snapshot.
 */
export function columnsStatement({ page, atOrBefore }: PageScans, { limit, withState }: Returned): Statement {
  const passed = atOrBefore === null ? '' : shapeOf(atOrBefore)
  const template = templateOf(`columns ${withState} ${passed}`, page, (placeholders) => {
    const [state, from] = withState ? [', state.*', ` cross join (${READ_STATE}) as state`] : ['', '']
    return `select page.*, ${factsText(page, atOrBefore, placeholders)}${state}
      from (${columnsText(page, placeholders)}) as page${from}`
  })
  return template({ scan: page, limit, atOrBefore })
}

/**
 * As `pageStatement` (pages/scan-sql.ts), in the SQL of PostgreSQL. It returns one text for each open column, with the
 * values of all rows in the order of the answer, and the number of rows last. Each value is one line, and null is an empty
 * line. Null if there are no rows.
 */
function columnsText(scan: Scan, placeholders: Placeholders): string {
  const texts = openColumns(scan).map(({ name, type }, index) => {
    const text = type === 'hash' ? name : `coalesce(cast(${name} as text), '')`
    return `string_agg(${text}, E'\\n') as column_${index}`
  })
  const names = columnNames(scan.resource)
  return `select ${texts.join(', ')}, count(*) as rows from (${rowsText(scan, placeholders, POSTGRES_HINTS, () => names)}) as page`
}

/**
 * The statement that reads a page on PostgreSQL: its first `limit` rows in order, each followed by nulls, and one row
 * with only the trailing columns: the facts (see {@link factsText}), then the store's state. One statement is one
 * snapshot.
 */
export function rowsStatement({ page, atOrBefore }: PageScans, { limit, withState }: Returned): Statement {
  const passed = atOrBefore === null ? '' : shapeOf(atOrBefore)
  const template = templateOf(`rows and facts ${withState} ${passed}`, page, (placeholders) => {
    const nulls = (count: number) => Array(count).fill('null').join(', ')
    const names = columnNames(page.resource)
    const [state, from] = withState ? [', state.*', `from (${READ_STATE}) as state`] : ['', '']
    return `select ${nulls(page.resource.storage.columns.length)}, ${factsText(page, atOrBefore, placeholders)}${state} ${from}
      union all
      select page.*, ${nulls(FACTS + (withState ? STATE_COLUMNS : 0))}
      from (${rowsText(page, placeholders, POSTGRES_HINTS, () => names)}) as page`
  })
  return template({ scan: page, limit, atOrBefore })
}

/** Number of facts. */
const FACTS = 2

/**
 * Whether there is a row at or before the cursor, and the id of the market with the given number (null if there is none).
 */
function factsText(page: Scan, atOrBefore: Scan | null, placeholders: Placeholders): string {
  const isAnyAtOrBefore =
    atOrBefore === null ? 'false' : existsText(atOrBefore, placeholders, 'atOrBefore', POSTGRES_HINTS)
  const number = page.market === null ? null : placeholders.add('market', ({ scan }) => scan.market!)
  const marketId = number === null ? 'null' : `(select market_id from markets where market = ${number})`
  return `${isAnyAtOrBefore}, ${marketId}`
}

/**
 * Whether a page of a resource is read as texts of its columns ({@link columnsStatement}) or as rows ({@link
 * rowsStatement}). For long rows as texts, the server would take memory from the system and return it for each page. On a
 * cluster they are read as texts nevertheless, because each machine answers a statement in this form whole. A column of
 * type `text` may have several lines, so its rows are read as rows.
 */
export function isReadAsColumns({ storage }: Resource, isDistributed: boolean): boolean {
  return storage.columns.every(({ type }) => type !== 'text' && (isDistributed || type !== 'json'))
}

/** The columns of a page's rows that no filter fixes to one value. */
export function openColumns({ resource, selection }: Pick<Scan, 'resource' | 'selection'>): RowColumn[] {
  return resource.storage.columns.filter(({ name }) => fixingFilter(resource, selection, name) === undefined)
}
