/**
 * How a select over several tables gives the event that a row is from. Followers of a stream receive a row by its position.
 * A row that shows a column of another table must move when that table's row changes; otherwise they never receive the
 * change. Tables have the names of the select: their aliases, if it gives any.
 */
export type Positions = {
  /**
   * The columns `height` and `event_index` of the latest event of these tables. The first table has a row for each row of
   * the select; the others may have none.
   */
  latest: (first: string, ...others: readonly string[]) => string
  /** A condition that excludes rows of `table` that are later than the event of `of`, so that they change nothing. */
  notAfter: (table: string, of: string) => string
  /** The name of `table`, whose rows are written by the same events as those of `of`, at the same positions. */
  withRowsOf: (table: string, of: string) => string
}

/** `from` and `fromInGaps` of a `Storage` (storage.ts). */
type SelectWithPositions = { from: string; fromInGaps?: string }

/**
 * The texts of a select whose positions are described.
 *
 * @param name the resource, for the error
 * @param table the table whose rows it selects, with their own positions unless `latest` gives others
 *
 * @throws {TypeError} if it reads a table whose changes do not move its rows.
 */
export function selectWithPositions(
  name: string,
  table: string,
  select: (positions: Positions) => string,
): SelectWithPositions {
  /** The tables whose events give a row its position. */
  const moving = new Set<string>()
  /** These, and those whose rows change only together with theirs. */
  const covered = new Set<string>()
  const cover = (...tables: readonly string[]) => {
    for (const one of tables) covered.add(one)
  }
  const others: Omit<Positions, 'latest'> = {
    notAfter: (table, of) => {
      cover(table, of)
      return `(${positionIn(table)}) <= (${positionIn(of)})`
    },
    withRowsOf: (table, of) => {
      cover(table, of)
      return table
    },
  }
  const from = select({
    ...others,
    latest: (...tables) => {
      cover(...tables)
      for (const one of tables) moving.add(one)
      return ['height', 'event_index'].map((column) => `${latestOf(tables, column)} as ${column}`).join(', ')
    },
  })
  const positioned = tablesIn(from).flatMap(({ table, alias }) => (covered.has(alias) ? [table] : []))
  refuseTablesWithoutPosition(name, from, moving.size === 0 ? [table, ...positioned] : positioned)
  if (moving.size < 2) return { from }
  const selects = [...moving].map((one) =>
    select({
      ...others,
      latest: () => ['height', 'event_index'].map((column) => `${one}.${column} as ${column}`).join(', '),
    }),
  )
  return { from, fromInGaps: selects.join('\nunion ') }
}

/**
 * Refuses SQL that reads a table whose changes do not move the rows.
 *
 * @throws {TypeError} which says what to do.
 */
export function refuseTablesWithoutPosition(name: string, sql: string, positioned: readonly string[]): void {
  const foreign = tablesIn(sql).find(({ table }) => !positioned.includes(table))
  if (foreign === undefined) return
  throw new TypeError(
    `${name}: its rows depend on the table ${foreign.table}, and do not move in streams when that changes: ` +
      'give the select its position by latest, or limit it by notAfter (core/model/row-positions.ts)',
  )
}

const positionIn = (table: string) => `${table}.height, ${table}.event_index`

/**
 * A column of the position, from the table with the latest one. For `height` of the tables `a` and `b`:
 *
 *   case when (b.height, b.event_index) > (a.height, a.event_index) then b.height else a.height end
 */
function latestOf([first, ...others]: readonly string[], column: string): string {
  return others.reduce((latest, table, at) => {
    const isAfter = (other: string) => `(${positionIn(table)}) > (${positionIn(other)})`
    const conditions = [
      isAfter(first!),
      // Each but the first may have no row.
      ...others.slice(0, at).map((other) => `(${other}.height is null or ${isAfter(other)})`),
    ]
    return `case when ${conditions.join(' and ')} then ${table}.${column} else ${latest} end`
  }, `${first}.${column}`)
}

/** The tables that SQL reads, each with its alias. */
function tablesIn(sql: string): { table: string; alias: string }[] {
  const matches = sql.matchAll(/\b(?:from|join)\s+([a-z_]+)\b(?:\s+as\s+([a-z_]+)\b)?/gi)
  return [...matches].map(([, table, alias]) => ({ table: table!, alias: alias ?? table! }))
}
