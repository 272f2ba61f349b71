import type { Coverage, Gap } from '../../domain/coverage.ts'
import type { Row } from '../../resources/resource.ts'
import { holdingsOf } from '../holdings.ts'
import { existsStatement, pageStatement, type Statement, spanStatement } from '../page-statement.ts'
import { pageScans, type Span, selectsNothing } from '../scan.ts'
import {
  READ_CHECKPOINT_HOLDINGS,
  READ_GAPS,
  READ_POINT_HOLDINGS,
  READ_POSITION,
  READ_PROVIDER_HOLDINGS,
  READ_PRUNED,
  READ_STREAM,
} from '../statements.ts'

import {
  type Holdings,
  type Page,
  type PageQuery,
  type Position,
  type Reader,
  StoreError,
  StoreUnavailableError,
} from '../store.ts'
import { Connection, explained } from './connection.ts'

/**
 * Opens a reader on a connection of its own, for reading only. The connection is opened anew once the file has
 * changed, by a writer or by someone who has replaced it, and after every error: a removed store that comes
 * back is read again.
 */
export function openSqliteReader(path: string): Reader {
  let connection: Connection | null = Connection.openForReading(path)

  function close(): void {
    connection?.close()
    connection = null
  }

  function current(): Connection {
    if (connection?.isUnchanged === false) close()
    connection ??= Connection.openForReading(path)
    return connection
  }

  async function snapshot<T>(read: (connection: Connection) => T): Promise<T> {
    try {
      const from = current()
      return explained(path, () => from.transaction('deferred', () => read(from)))
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
      close()
      throw new StoreUnavailableError(error.message, { cause: error })
    }
  }

  return {
    page: (query) => snapshot((from) => ({ ...readPage(from, query), position: readPosition(from) })),
    position: () => snapshot(readPosition),
    coverage: () => snapshot(readCoverage),
    holdings: () => snapshot(readHoldings),
    close: async () => close(),
  }
}

function readPage(connection: Connection, query: PageQuery): Omit<Page, 'position'> {
  const rows = (statement: Statement): Row[] => connection.rows(statement.text, statement.values)
  const none = { rows: [], more: false, behind: false }
  if (selectsNothing(query.selection)) return none
  const spanOf = spanStatement(query.resource, query.selection)
  let span: Span | null = null
  if (spanOf !== null) {
    const [found] = rows(spanOf)
    if (found === undefined) return none
    span = { first: BigInt(found[0] as string), last: BigInt(found[1] as string) }
  }
  const scans = pageScans(query, span)
  const found = rows(pageStatement(scans.page, query.limit + 1, 'lazy'))
  const more = found.length > query.limit
  if (more) found.pop()
  const behind = scans.behind !== null && rows(existsStatement(scans.behind))[0]![0] === 1
  return { rows: found, more, behind }
}

function readHoldings(connection: Connection): Holdings | null {
  const coverage = readCoverage(connection)
  if (coverage === null) return null
  return holdingsOf(
    coverage,
    connection.rows(READ_CHECKPOINT_HOLDINGS),
    connection.rows(READ_POINT_HOLDINGS),
    connection.rows(READ_PROVIDER_HOLDINGS),
    connection.rows(READ_PRUNED),
  )
}

function readPosition(connection: Connection): Position | null {
  const row = connection.row(READ_POSITION)
  return row === null ? null : { height: row[0] as string, timestamp: row[1] as string }
}

/** What the store holds, within the caller's transaction. */
export function readCoverage(connection: Connection): Coverage | null {
  const row = connection.row(READ_STREAM) as string[] | null
  if (row === null) return null
  const [chainId, first, height, timestamp] = row
  const gaps = connection.rows(READ_GAPS).map(
    ([from, to, kind]): Gap => ({
      from: BigInt(from!),
      to: BigInt(to!),
      kind: kind as Gap['kind'],
    }),
  )
  return {
    chainId: chainId!,
    first: BigInt(first!),
    height: BigInt(height!),
    timestamp: BigInt(timestamp!),
    gaps,
  }
}
