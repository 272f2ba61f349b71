import { tmpdir } from 'node:os'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import type { HistoryRow, SourceBlock, SourceRow } from '../source.ts'
import { openUnnamed, withDiskErrors } from '../temporary-file.ts'

/** Number of rows handed on at once. */
const SORTED_CHUNK_ROWS = 1_000

/** Fields are cut to this many characters. A store does not accept such a long one, so it is left out. */
const MAX_FIELD_LENGTH = 2_000

const MICROSECONDS_PER_SECOND = 1_000_000

const SCHEMA = `
  create table blocks (height integer primary key, time integer not null unique);
  -- Of all segments so far, for the rows of current state.
  create table times (time integer primary key, height integer not null);
`

/** Sorts the rows of one table of a segment. A new sorter of the same table replaces it. */
type RowSorter = {
  /** The height of the segment's block with a time, Unix microseconds; null if there is none. */
  heightOf(time: number): number | null
  /**
   * Adds a row of the block with this height.
   *
   * @throws {TemporaryFileError} without space for it.
   */
  add(height: number, row: SourceRow): void
  /** All added rows in chunks, by block; rows of one block are in the order in which they were added. */
  sorted(): Iterable<HistoryRow[]>
}

/**
 * A temporary database that sorts the rows of segments, one segment after another. After {@link close} its other methods
 * throw.
 */
export class SortingDatabase {
  /** The folder of its file. */
  readonly folder: string
  readonly #database: DatabaseSync
  readonly #findHeight: StatementSync
  readonly #findAnyHeight: StatementSync
  readonly #heightsIn: StatementSync
  readonly #insertBlock: StatementSync
  readonly #insertTime: StatementSync

  /** @throws {TemporaryFileError} for a folder in which no file can be created. */
  constructor(folder: string = tmpdir()) {
    const database = openUnnamed(folder, create)
    this.folder = folder
    this.#database = database
    this.#findHeight = database.prepare('select height from blocks where time = ?')
    this.#findAnyHeight = database.prepare('select height from times where time = ?')
    this.#heightsIn = database.prepare('select height from times where time >= ? and time < ? limit 2')
    this.#insertBlock = database.prepare('insert into blocks values (?, ?)')
    this.#insertTime = database.prepare('insert or replace into times values (?, ?)')
  }

  /** Forgets the blocks of the previous segment. Must be called before the blocks of a segment are added. */
  beginBlocks(): void {
    this.#database.exec('delete from blocks')
  }

  /**
   * Adds a block. If there is already a block with this height or this time, it returns which of the two; otherwise null.
   *
   * @throws {TemporaryFileError} without space for it.
   */
  addBlock({ height, time }: SourceBlock): string | null {
    try {
      withDiskErrors(this.folder, () => this.#insertBlock.run(height, time))
    } catch (error) {
      if ((error as { errcode?: number }).errcode === undefined) throw error
      const other = this.heightOf(time)
      return other === null || other === height ? `block ${height} twice` : sameTime(other, height)
    }
    this.#insertTime.run(time, height)
    return null
  }

  /** The blocks of the segment from a height on, ascending, in chunks. */
  *blocks(from: number): Generator<SourceBlock[], void, undefined> {
    const all = this.#database.prepare('select height, time from blocks where height >= ? order by height')
    yield* chunksOf(all.iterate(from) as Iterable<{ height: number; time: number }>, (block) => ({
      ...block,
    }))
  }

  /** The height of the segment's block with a time; null if there is none. */
  heightOf(time: number): number | null {
    return Number.isNaN(time) ? null : heightIn(this.#findHeight.all(time))
  }

  /**
   * The height of the only block in a second, in all segments. For a time with a fraction, it is the block with that time.
   */
  heightInSecond(time: number): number | null {
    return time % MICROSECONDS_PER_SECOND === 0
      ? heightIn(this.#heightsIn.all(time, time + MICROSECONDS_PER_SECOND))
      : this.heightAt(time)
  }

  /** The height of the block with a time, in any segment; null if there is none. */
  heightAt(time: number): number | null {
    return Number.isNaN(time) ? null : heightIn(this.#findAnyHeight.all(time))
  }

  /**
   * Sorts rows by block; rows of one block stay in the order in which they are added. Must be called once the blocks of the
   * segment are added.
   *
   * @param width the number of fields of a row
   * @param hasLists whether fields are stored whole; rows are then handed on one by one
   */
  sorter(table: string, width: number, hasLists = false): RowSorter {
    const mostLength = hasLists ? undefined : MAX_FIELD_LENGTH
    const chunkRows = hasLists ? 1 : SORTED_CHUNK_ROWS
    const columns = Array.from({ length: width }, (_, column) => `c${column}`).join(', ')
    this.#database.exec(`
      create table if not exists "${table}" (
        height integer, ordinal integer, ${columns}, primary key (height, ordinal)
      ) without rowid;
      delete from "${table}";
    `)
    const insert = this.#database.prepare(`insert into "${table}" values (?, ?${', ?'.repeat(width)})`)
    const select = this.#database.prepare(
      `select height, ${columns} from "${table}" order by height, ordinal`,
    )
    select.setReturnArrays(true)
    let count = 0
    // Rows of one block are mostly adjacent.
    let [lastTime, lastHeight] = [Number.NaN, null as number | null]
    return {
      heightOf: (time) => {
        if (time !== lastTime) [lastTime, lastHeight] = [time, this.heightOf(time)]
        return lastHeight
      },
      add: (height, row) => {
        withDiskErrors(this.folder, () =>
          insert.run(height, count++, ...row.map((field) => field?.slice(0, mostLength) ?? null)),
        )
      },
      sorted: () =>
        chunksOf(
          select.iterate() as unknown as Iterable<[number, ...SourceRow]>,
          ([height, ...row]) => ({ height, row }),
          chunkRows,
        ),
    }
  }

  /** Closes the database, which deletes its file. Must be called only once. */
  close(): void {
    this.#database.close()
  }
}

function create(path: string): DatabaseSync {
  const database = new DatabaseSync(path)
  database.exec('pragma journal_mode = off; pragma synchronous = off; pragma cache_size = -65536')
  // One transaction, which is never committed, because nothing needs to last. SQLite begins no transaction by itself in a
  // file without a name.
  database.exec(`begin; ${SCHEMA}`)
  return database
}

const sameTime = (one: number, other: number) =>
  `blocks ${Math.min(one, other)} and ${Math.max(one, other)} have the same time`

/** The height of the only row; null if there is none, or there are several. */
function heightIn(rows: readonly unknown[]): number | null {
  return rows.length === 1 ? (rows[0] as { height: number }).height : null
}

function* chunksOf<From, To>(
  all: Iterable<From>,
  of: (one: From) => To,
  rows = SORTED_CHUNK_ROWS,
): Generator<To[], void, undefined> {
  let chunk: To[] = []
  for (const one of all) {
    if (chunk.push(of(one)) < rows) continue
    yield chunk
    chunk = []
  }
  if (chunk.length > 0) yield chunk
}
