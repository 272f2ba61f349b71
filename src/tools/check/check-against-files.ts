import type { Logger } from 'pino'
import { withOpen } from '#core/concurrency/with-open'
import { isBefore } from '#core/domain/event-position'
import {
  describeBlocks,
  type HeightRange,
  type InText,
  inText,
  isWithin,
  without,
} from '#core/domain/height-ranges'
import { nearestInt64 } from '#core/domain/integers'
import { cutToMicrosecond, MICROSECOND } from '#core/domain/time'
import { ingestFiles } from '#core/ingest/ingest-files'
import type { EventInput } from '#core/records/event-paths'
import { describeCutOff } from '#core/records/read-records'
import { StoreError } from '#core/store/errors'
import { readCoverage } from '#core/store/queries/coverage'
import { readPrunedBefore } from '#core/store/queries/pruned'
import { hasPositions, TABLES, type Table, type TextCell, tableOf } from '#core/store/schema/tables'
import { openTemporaryStore } from '#core/store/sqlite/tables'
import type { Store } from '#core/store/store'
import type { TableReader } from '#core/store/table-reader'
import { allRows, namedRow, positionOfRow, walkTable } from '#core/store/walk-table'
import { commonHeights } from '../compare/common-heights.ts'
import { CompareError } from '../compare/compare-error.ts'
import type { Pair } from '../compare/compare-rows.ts'
import { openUnnamed, TemporaryFileError } from '../import/temporary-file.ts'
import { allowancesOf, type Compared, type Covered, laterOf, POINTS, type TablePair } from './allowances.ts'
import { checkPositions, OrderWatch } from './check-positions.ts'
import type { StoreCheck } from './check-store.ts'
import { type Cells, compareTables, namedPair, type TableRules, tableRules } from './compare-tables.ts'
import type { Problems } from './problems.ts'

type FilesCheckOptions = {
  logger: Logger
  signal: AbortSignal
  /** Folder of the temporary store. */
  temp: string
  onStep?: (what: string) => void
}

/**
 * The heights that both have completely, and for each table the number of equal rows, and of allowed differences by kind.
 */
export type FilesComparison = {
  heights: InText<HeightRange>[]
  rows: Record<string, number>
  allowed: Record<string, Record<string, number>>
}

type CoveredStore = Covered & { name: string; reader: TableReader }

type ComparedStores = Compared & { store: CoveredStore; files: CoveredStore }

/** Maximum size of a temporary store, as a multiple of the size of plain and of compressed event files. */
const STORE_SHARE = { plain: 0.5, gz: 3 }

/** Upper bound of the size of a temporary store for event files, in bytes; null if unknown. */
export function storeBytesOf({ files }: EventInput): number | null {
  return files.reduce<number | null>((total, { path, bytes }) => {
    if (total === null || bytes === null) return null
    return total + bytes * (path.endsWith('.gz') ? STORE_SHARE.gz : STORE_SHARE.plain)
  }, 0)
}

/**
 * Compares a store with event files over the blocks that both have completely: every row, in both directions. The files are
 * written to a temporary store first, so that both are read in the order of their keys, whatever their size. Differences
 * are added to the problems of `check`. Null if nothing can be compared.
 *
 * @throws {TemporaryFileError} if the temporary store cannot be written.
 */
export async function checkAgainstFiles(
  store: Store,
  input: EventInput,
  check: StoreCheck,
  options: FilesCheckOptions,
): Promise<FilesComparison | null> {
  const { temp, signal, logger, onStep } = options
  const { problems, notes } = check
  const markets = await withOpen(store.openTableReader(), readMarkets)
  const { writer, tables } = openUnnamed(temp, (path) => openTemporaryStore(path, markets))
  return withOpen(Promise.resolve(tables), async () => {
    onStep?.('the event files')
    const watch = new OrderWatch(writer)
    const ingestion = await ingestFiles({
      input,
      writer: watch,
      logger,
      allowGap: true,
      strict: false,
      signal,
    })
    signal.throwIfAborted()
    const { failure } = ingestion
    if (failure instanceof StoreError) throw new TemporaryFileError(failure.message, failure)
    if (failure !== null) problems.add('event files', failure.message)
    for (const cutOff of ingestion.report.cutOff) notes.push(describeCutOff(cutOff))
    try {
      return await withOpen(store.openTableReader(), async (reader) =>
        compareStores(
          await coveredStore(store.name, reader),
          await coveredStore('the event files', tables),
          check,
          { ...options, isInOrder: watch.isInOrder },
        ),
      )
    } catch (error) {
      if (!(error instanceof CompareError)) throw error
      problems.add('event files', error.message)
      return null
    }
  })
}

async function compareStores(
  store: CoveredStore,
  files: CoveredStore,
  check: StoreCheck,
  { signal, onStep, isInOrder }: FilesCheckOptions & { isInOrder: boolean },
): Promise<FilesComparison> {
  const { problems, notes } = check
  const heights = commonHeights(store, files)
  await refuseNewMarkets(store.reader, files.reader)
  for (const range of without(files.heights, store.heights).slice(0, 20)) {
    notes.push(
      `the event files contain ${describeBlocks(range)}, which the store does not: add them with lyra ingest`,
    )
  }
  for (const range of store.imported.slice(0, 20)) {
    notes.push(
      `imported ${describeBlocks(range)}: rows that an import cannot contain may be missing, and ` +
        'the order in a block and times below a microsecond are not compared',
    )
  }
  const comparison: ComparedStores = {
    store,
    files,
    sameLists: await sameLists(store.reader, files.reader),
    pruned: await store.reader.run(readPrunedBefore()),
  }
  compareLastBlock(comparison, problems)
  const result: FilesComparison = { heights: heights.map(inText), rows: {}, allowed: {} }
  for (const table of TABLES.filter((table) => hasPositions(table) && !table.isDerived)) {
    onStep?.(`${table.name}, against the event files`)
    const [stored, others] = [store, files].map(({ reader }) => walkTable(reader, table, {}, signal))
    const rules = rulesOf(comparison, table)
    const counts = await compareTables(table, stored!, others!, 'in the files', rules, problems)
    const { same, ...allowed } = counts
    result.rows[table.name] = same
    result.allowed[table.name] = allowed
  }
  if (isInOrder) {
    onStep?.('positions, against the event files')
    await checkPositions({ store: store.reader, files: files.reader }, comparison, check, signal)
  }
  return result
}

/**
 * The store's coverage, and the heights of its blocks.
 *
 * @throws {CompareError} for an empty store.
 */
async function coveredStore(name: string, reader: TableReader): Promise<CoveredStore> {
  const coverage = await reader.run(readCoverage())
  if (coverage === null) throw new CompareError(`nothing to compare: no block is in ${name}`)
  const heights = without([{ from: coverage.first, to: coverage.height }], coverage.gaps)
  return { ...coverage, name, reader, heights, fromEvents: without(heights, coverage.imported) }
}

const readMarkets = (reader: TableReader) => allRows(reader, tableOf('markets'))

/**
 * Data points have the numbers of their markets. These are the same in both stores, unless a market has appeared meanwhile.
 *
 * @throws {CompareError} if one has.
 */
async function refuseNewMarkets(store: TableReader, files: TableReader): Promise<void> {
  const ours = await readMarkets(store)
  for (const [number, id] of await readMarkets(files)) {
    if (ours.every((market) => (market[0] === number) === (market[1] === id))) continue
    throw new CompareError(`nothing to compare: market ${id} has appeared meanwhile; run the command again`)
  }
}

async function sameLists(store: TableReader, files: TableReader): Promise<Set<TextCell>> {
  const table = tableOf('liquidity_provider_lists')
  const theirs = new Set((await allRows(files, table)).map((row) => JSON.stringify(row)))
  const same = (await allRows(store, table)).filter((row) => theirs.has(JSON.stringify(row)))
  return new Set(same.map(([market]) => market!))
}

function compareLastBlock({ store, files }: ComparedStores, problems: Problems): void {
  if (store.height !== files.height) return
  const isImported = isWithin(store.imported, store.height)
  const expected = isImported ? cutToMicrosecond(files.timestamp) : files.timestamp
  if (store.timestamp === expected) return
  problems.add(
    'stream',
    `the last block has time ${store.timestamp} in the store, ${files.timestamp} in the files`,
  )
}

/** The rules for comparing a table's rows, with the differences that {@link allowancesOf} allows. */
function rulesOf(comparison: ComparedStores, table: Table): TableRules<TablePair> {
  const { cells, rows } = allowancesOf(comparison)
  const rules = tableRules(table)
  const fieldsOf = (ours: Cells, theirs: Cells) => {
    const fields = rules.fieldsOf(ours, theirs)
    if (fields.length === 0) return fields
    const inStore = namedRow(table, ours)
    const inFiles = namedRow(table, theirs)
    return fields.filter((column) => !cells.some((allows) => allows({ table, column, inStore, inFiles })))
  }
  const describe = async (pair: Pair<Cells>) => {
    const event = await eventOfPoint(comparison, table, pair.a)
    const fields = event === null ? pair.fields : fieldsOf(pair.a!, event)
    if (event !== null && fields.length === 0) return null
    const named = namedPair(table, { ...pair, fields, b: event ?? pair.b })
    return { ...named, table, later: laterOf(table, named) }
  }
  return { ...rules, fieldsOf, describe, allowances: rows }
}

/** The files' row for the event of an imported point: the row whose time, cut to microseconds, is the point's. */
async function eventOfPoint(
  { store, files }: ComparedStores,
  table: Table,
  point: Cells | null,
): Promise<Cells | null> {
  if (table !== POINTS || point === null) return null
  const { height, market, source, timestamp, seq } = namedRow(table, point)
  const block = BigInt(height!)
  if (!isWithin(store.imported, block) || !isWithin(files.fromEvents, block)) return null
  const last = nearestInt64(BigInt(timestamp!) + MICROSECOND - 1n).toString()
  const range = { after: [market!, source!, timestamp!], upTo: [market!, source!, last] }
  const rows = await allRows(files.reader, table, range)
  // The last event in the block, or one that was repeated in a later block.
  const events = rows
    .map((row) => ({ row, event: namedRow(table, row) }))
    .filter(({ event }) => event.seq === seq && BigInt(event.height!) >= block)
    .sort((a, b) => (isBefore(positionOfRow(a.event), positionOfRow(b.event)) ? -1 : 1))
  return (events.findLast(({ event }) => event.height === height) ?? events.at(-1))?.row ?? null
}
