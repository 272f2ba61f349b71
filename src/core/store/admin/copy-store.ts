import { createHash, type Hash } from 'node:crypto'
import { resolve } from 'node:path'
import { realPathOf } from '../../concurrency/real-path.ts'
import type { Cell } from '../../model/columns.ts'
import type { TableRow } from '../../model/table.ts'
import { StoreError } from '../errors.ts'
import { readCoverage } from '../queries/coverage.ts'
import { readStore } from '../read-store.ts'
import { keyOfRow, type RowRange, rangeClauses } from '../schema/ranges.ts'
import { TABLES, type Table, type TextCell } from '../schema/tables.ts'
import type { Store, StoreAdmin, Upkeep } from '../store.ts'
import { type TableReader, tableReader } from '../table-reader.ts'
import { walkTable } from '../walk-table.ts'

/** Number of rows to read, compare and write at a time. */
const COPY_CHUNK_ROWS = 10_000

/** A table, equal in both stores after the copy. */
type TableDigest = { table: string; rows: number; sha256: string }

type CopyProgress = { table: string; rows: number; written: number }

type CopyOptions = {
  signal?: AbortSignal
  onProgress?: (progress: CopyProgress) => void
  onNotice?: (message: string) => void
}

/**
 * Copies the state of `from` at the start of the copy into `to`. Rows already in `to` are compared and stay, so an
 * interrupted copy can be resumed. The store head is written last: from the first change until then `to` counts as empty, and
 * nothing else can be written to it.
 *
 * @returns the number of rows and the digest of each table, equal on both sides
 *
 * @throws {StoreError} if `from` is empty, if `to` is of another chain or has more blocks, or if they differ afterwards.
 */
export async function copyStore(
  from: Store,
  to: StoreAdmin,
  options: CopyOptions = {},
): Promise<TableDigest[]> {
  await refuseUnlikeStores(from, to)
  await using opened = new AsyncDisposableStack()
  // Open during the whole copy, so that nothing else writes.
  opened.adopt(await to.openWriter(options), (writer) => writer.close())
  const source = opened.adopt(await from.openTableReader(), (tables) => tables.close())
  const target = opened.adopt(await to.openUpkeep(), (upkeep) => upkeep.close())
  const copied = tableReader(
    (statement) => target.read(statement),
    () => target.close(),
  )
  const digests: TableDigest[] = []
  for (const table of TABLES) digests.push(await copyTable(table, { source, target, copied }, options))
  for (const [index, table] of TABLES.entries()) {
    const { rows, sha256 } = digests[index]!
    const digest = await digestTable(table, copied)
    if (digest.rows === rows && digest.sha256 === sha256) continue
    throw new StoreError(
      `${table.name} differs after the copy: ${rows} rows in ${from.name}, ${digest.rows} in ${to.name}; run the copy again`,
    )
  }
  return digests
}

async function refuseUnlikeStores(from: Store, to: StoreAdmin): Promise<void> {
  if (locationOf(from) === locationOf(to))
    throw new StoreError(`${to.name}: is the store to copy; copy to another store`)
  const source = await readStore(from, readCoverage)
  if (source === null) throw new StoreError(`${from.name}: is empty; there is nothing to copy`)
  // An existing store is not upgraded. If there is none, the copy creates it.
  if ((await to.schemaVersion()) === 0) return
  const target = await readStore(to, readCoverage)
  if (target === null) return
  if (target.chainId !== source.chainId) {
    throw new StoreError(
      `${to.name}: is of chain ${target.chainId}, and ${from.name} of chain ${source.chainId}; copy to another store`,
    )
  }
  if (target.height > source.height) {
    throw new StoreError(
      `${to.name}: holds blocks up to ${target.height}, and ${from.name} only up to ${source.height}; copy to another store`,
    )
  }
}

/** Two spellings of a file's path are the same store, and a link is the one to which it leads. */
const locationOf = ({ name, isEmbedded }: Store) => (isEmbedded ? realPathOf(resolve(name)) : name)

async function copyTable(
  table: Table,
  { source, target, copied }: { source: TableReader; target: Upkeep; copied: TableReader },
  { signal, onProgress }: CopyOptions,
): Promise<TableDigest> {
  const hash = createHash('sha256')
  let after: readonly TextCell[] | null = null
  let rows = 0
  let written = 0
  for (let done = false; !done; ) {
    signal?.throwIfAborted()
    const chunk = await source.read(table, { after, upTo: null }, COPY_CHUNK_ROWS)
    done = chunk.length < COPY_CHUNK_ROWS
    const upTo: readonly TextCell[] | null = done ? null : keyOfRow(table, chunk.at(-1)!)
    const copiedChunk = await copied.read(table, { after, upTo }, COPY_CHUNK_ROWS + 1)
    if (JSON.stringify(copiedChunk) !== JSON.stringify(chunk)) {
      await replaceRows(target, table, { after, upTo }, chunk)
      written += chunk.length
    }
    addRows(hash, chunk)
    rows += chunk.length
    after = upTo
    onProgress?.({ table: table.name, rows, written })
  }
  return { table: table.name, rows, sha256: hash.digest('hex') }
}

/** Replaces the rows of a range of a copy, in one transaction. The store has no head from then on, unless it is that range. */
export async function replaceRows(
  target: Upkeep,
  table: Table,
  range: RowRange,
  rows: readonly (readonly TextCell[])[],
): Promise<void> {
  const { where, values } = rangeClauses(table, range)
  await target.write(function* () {
    yield { text: 'delete from stream' }
    yield { text: `delete from ${table.name} ${where}`, values }
    yield { table, rows: rows.map((row) => rowOf(table, row)), areNew: true }
    // Deleted rows count too.
    return rows.length + 1
  })
}

/** A row to be written, from its cells as text. */
function rowOf({ columns }: Table, cells: readonly TextCell[]): TableRow {
  const row: Record<string, Cell> = {}
  for (const [index, { name, type }] of columns.entries()) {
    const text = cells[index]!
    if (text === null || type === 'text' || type === 'digits') row[name] = text
    else row[name] = type === 'integer' ? BigInt(text) : text === '1'
  }
  return row
}

/** The number of a table's rows, and their digest in the order of the key. */
async function digestTable(table: Table, reader: TableReader): Promise<TableDigest> {
  const hash = createHash('sha256')
  let rows = 0
  for await (const chunk of walkTable(reader, table)) {
    addRows(hash, chunk)
    rows += chunk.length
  }
  return { table: table.name, rows, sha256: hash.digest('hex') }
}

function addRows(hash: Hash, rows: readonly (readonly TextCell[])[]): void {
  for (const row of rows) hash.update(`${JSON.stringify(row)}\n`)
}
