import { FILTERS } from '../../model/filters.ts'
import { mergedParts } from '../../model/node-parts.ts'
import { nodeSql, type SqlPart, sqlText } from '../../model/node-sql.ts'
import type { Resource } from '../../model/resource.ts'
import { marketCursorHead } from '../../resources/market-cursor.ts'
import { HEAD_ROOM } from '../pages/edges.ts'
import type { LineCursors } from '../pages/page.ts'
import type { Scan } from '../pages/scan.ts'
import { existsText, orderBy, rowsText, type ScanPart, SQLITE_HINTS } from '../pages/scan-sql.ts'
import { type Placeholders, templateOf } from '../pages/statement-template.ts'
import type { Statement } from '../queries-protocol.ts'

/* The pages of SQLite, which writes their text itself. */

/**
 * As `pageStatement` (pages/scan-sql.ts), but SQLite writes the rows as the API's edges: one row with one text and the
 * number of edges. The text is {@link HEAD_ROOM} bytes, then the edges with commas between them; null if there are none.
 *
 * @param reversed whether the edges are in the opposite order of reading
 */
export function edgesStatement(scan: Scan, limit: number, reversed: boolean): Statement {
  const name = reversed ? 'edges reversed' : 'edges'
  const written = { name, partsOf: edgeParts, separator: ',', reversed, headRoom: HEAD_ROOM }
  return writtenStatement(scan, limit, written)
}

/**
 * As {@link edgesStatement}, but each row is a line of an export: its node, with the row's cursor as one more field. There
 * is no space before the lines, and each ends with a line feed.
 */
export function linesStatement(scan: Scan, limit: number, cursors: LineCursors): Statement {
  const partsOf: PartsOf = (resource, known) =>
    mergedParts([
      ...nodeSql(resource.fields, known).slice(0, -1),
      { constant: () => ',"cursor":"' },
      ...(cursors === 'of all markets' ? [{ constant: marketCursorHead }] : []),
      ...resource.cursor.sql(known),
      { constant: () => '"}\n' },
    ])
  const name = `lines ${cursors}`
  return writtenStatement(scan, limit, { name, partsOf, separator: '', reversed: false, headRoom: 0 })
}

type PartsOf = (resource: Resource, known: Readonly<Record<string, string>>) => SqlPart[]

/** How SQLite writes rows: the parts of each, and the text between two rows. */
type WrittenRows = { name: string; partsOf: PartsOf; separator: string; reversed: boolean; headRoom: number }

function writtenStatement(
  scan: Scan,
  limit: number,
  { name, partsOf, separator, reversed, headRoom }: WrittenRows,
): Statement {
  return templateOf(name, scan, (placeholders) => {
    const { resource } = scan
    const key = resource.key.map(({ column }) => column).join(', ')
    // All rows begin and end alike, so the text between two rows is inserted between them once.
    const ends = partsOf(resource, {})
    const first = ends[0] as SqlConstant
    const last = ends.at(-1) as SqlConstant
    const withMiddle = ({ series }: ScanPart) => {
      const known =
        series === undefined ? {} : { [FILTERS[resource.storage.series!.filter].columns[0]]: series }
      const middle = partsOf(resource, known).slice(1, -1)
      return `${key}, concat(${middle.map((part) => partSql(placeholders, part)).join(', ')}) as middle`
    }
    const reading = rowsText(scan, placeholders, SQLITE_HINTS, withMiddle)
    const order = reversed ? `order by ${orderBy({ ...scan, descending: !scan.descending }, 'reading')}` : ''
    const between = partSql(placeholders, {
      constant: (scope) => `${last.constant(scope)}${separator}${first.constant(scope)}`,
    })
    // As bytes, because they are sent to the client unchanged.
    return `select case count(*) when 0 then null else cast(
        concat('${' '.repeat(headRoom)}', ${partSql(placeholders, first)}, group_concat(middle, ${between}), ${partSql(placeholders, last)})
        as blob) end, count(*)
      from (select middle from (${reading}) as reading ${order}) as page`
  })({ scan, limit })
}

type SqlConstant = Extract<SqlPart, { constant: unknown }>

/** A row as an edge of the API's answer. Its first and last part are the same for all rows. */
function edgeParts(resource: Resource, known: Readonly<Record<string, string>>): SqlPart[] {
  return mergedParts([
    { constant: () => '{"node":' },
    ...nodeSql(resource.fields, known),
    { constant: () => ',"cursor":"' },
    ...resource.cursor.sql(known),
    { constant: () => '"}' },
  ])
}

/** The SQL of a part of a row's text. A text that depends on the market in scope is bound once. */
function partSql(placeholders: Placeholders, part: SqlPart): string {
  if ('sql' in part) return part.sql
  const [one, other] = [part.constant('a'), part.constant('b')]
  if (one === other) return sqlText(one)
  return `cast(${placeholders.add(`text ${one}`, ({ scan }) => part.constant(scan.selection.marketId!))} as text)`
}

/** The statement for whether a scan has any row: one row with one column, true or 1. */
export function existsStatement(scan: Scan): Statement {
  return templateOf(
    'exists',
    scan,
    (placeholders) => `select ${existsText(scan, placeholders, 'scan', SQLITE_HINTS)}`,
  )({ scan, limit: 0 })
}
