import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Logger } from 'pino'
import {
  type Coverage,
  describeHeights,
  type HeightRange,
  type InText,
  inText,
  intersection,
  isWithin,
  without,
} from '#core/domain/coverage'
import { MAX_INT64, nearestInt64 } from '#core/domain/integers'
import { isBefore } from '#core/domain/place'
import { cutToMicrosecond, MICROSECOND } from '#core/domain/time'
import { ingestFiles } from '#core/ingest/ingest-files'
import type { EventInput } from '#core/records/event-paths'
import { describeCutOff, noEventsError } from '#core/records/read-records'
import { KEPT } from '#core/resources/kept'
import { findStore } from '#core/store/open-store'
import { readCoverage } from '#core/store/readings/coverage'
import { prunedBeforeOf } from '#core/store/readings/holdings'
import type { Store } from '#core/store/store'
import { ALL_ROWS, type TableReader } from '#core/store/table-reader'
import type { RowRange, Table, TextCell } from '#core/store/tables'
import { keepsPlaces, TABLES, tableOf } from '#core/store/tables'
import {
  allRows,
  compareKeys,
  describeRow,
  type NamedRow,
  namedRow,
  placeOfRow,
  walkTable,
} from '#core/store/walk-table'
import { withOpen } from '#core/with-open'
import { mergeByKey } from '../compare/merge-by-key.ts'
import { pointsOf, type StoreCheck } from './check-store.ts'
import type { Problems } from './problems.ts'
import { isUnplacedRow } from './row-rules.ts'

export type FilesCheckOptions = {
  log: Logger
  signal: AbortSignal
  onStep?: (what: string) => void
}

/** Heights that a store and event files both hold whole, and the rows that were the same in both. */
export type FilesComparison = { heights: InText<HeightRange>[]; rows: Record<string, number> }

/** One side of the comparison. */
type Side = {
  name: string
  reader: TableReader
  chainId: string
  /** The last block, and its time. */
  height: bigint
  timestamp: bigint
  /** Heights of the blocks that are held whole; of these, the imported ones, and those with all of their events. */
  whole: readonly HeightRange[]
  imported: readonly HeightRange[]
  fromEvents: readonly HeightRange[]
  coverage: Coverage
  /** The number of a market, by its id. */
  markets: ReadonlyMap<string, string>
}

type Comparison = {
  store: Side
  files: Side
  problems: Problems
  /** Rows that were pruned from the store. */
  isPruned: (table: Table, row: NamedRow) => boolean
  signal: AbortSignal
}

/** Tables whose rows are compared in a separate way. */
const COMPARED_APART: readonly string[] = ['funding_period_data_points', 'liquidity_providers']

/** Tables whose rows are the same in both, each by its event. */
const TABLES_BY_EVENT = TABLES.filter((table) => keepsPlaces(table) && !COMPARED_APART.includes(table.name))

/**
 * Compares a store with event files over the blocks that both hold whole: every row, in both directions. The
 * files go to a temporary store first, so that both are read in the order of their keys, whatever their size.
 * Adds what differs to the problems of `check`; null if nothing can be compared.
 */
export async function checkAgainstFiles(
  store: Store,
  input: EventInput,
  check: StoreCheck,
  options: FilesCheckOptions,
): Promise<FilesComparison | null> {
  const folder = mkdtempSync(join(tmpdir(), 'lyra-check-'))
  try {
    const files = findStore(join(folder, 'files.db'))
    await takeFilesIn(files, input, check, options)
    options.signal.throwIfAborted()
    return await compareStores(store, files, check, options)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function takeFilesIn(
  files: Store,
  input: EventInput,
  { problems, notes }: StoreCheck,
  { log, signal, onStep }: FilesCheckOptions,
): Promise<void> {
  onStep?.('the event files')
  await withOpen(files.openWriter(), async (writer) => {
    const { report, failure: stopped } = await ingestFiles({
      input,
      writer,
      log,
      allowGap: true,
      strict: false,
      signal,
    })
    const failure = stopped ?? noEventsError(input.files, report)
    if (failure !== null) problems.add('event files', failure.message)
    notes.push(...report.cutOff.map(describeCutOff))
  })
}

async function compareStores(
  store: Store,
  files: Store,
  { problems, notes }: StoreCheck,
  { signal, onStep }: FilesCheckOptions,
): Promise<FilesComparison | null> {
  const ofStore = await openSide(store.name, store)
  const ofFiles = await openSide('the event files', files)
  try {
    if (ofStore === null || ofFiles === null) {
      problems.add('event files', `nothing to compare: ${(ofStore ?? store).name} is empty`)
      return null
    }
    if (ofFiles.chainId !== ofStore.chainId) {
      problems.add(
        'event files',
        `the files are of chain ${ofFiles.chainId}, the store is of ${ofStore.chainId}: nothing to compare`,
      )
      return null
    }
    const heights = intersection(ofStore.whole, ofFiles.whole)
    if (heights.length === 0) {
      problems.add('event files', 'nothing to compare: no complete block is in both the files and the store')
      return null
    }
    for (const { from, to } of without(ofFiles.whole, ofStore.whole).slice(0, 20)) {
      notes.push(
        `the event files contain ${describeHeights({ from, to })}, which the store does not: add them with lyra ingest`,
      )
    }
    for (const { from, to } of ofStore.imported.slice(0, 20)) {
      notes.push(
        `${describeHeights({ from, to })} were imported: rows that an import cannot contain may be missing, and ` +
          'the order in a block and times below a microsecond are not compared',
      )
    }
    const comparison: Comparison = {
      store: ofStore,
      files: ofFiles,
      problems,
      isPruned: await prunedRows(ofStore.reader),
      signal,
    }
    compareLastBlock(comparison)
    const rows: Record<string, number> = {}
    for (const table of TABLES_BY_EVENT) {
      onStep?.(`${table.name}, against the event files`)
      rows[table.name] = await compareTable(comparison, table)
    }
    onStep?.('funding_period_data_points, against the event files')
    rows.funding_period_data_points = await comparePoints(comparison)
    onStep?.('liquidity_providers, against the event files')
    rows.liquidity_providers = await compareProviders(comparison)
    return {
      heights: heights.map(inText),
      rows,
    }
  } finally {
    await ofStore?.reader.close()
    await ofFiles?.reader.close()
  }
}

/** One snapshot of a store; null if it holds no block. */
async function openSide(name: string, store: Store): Promise<Side | null> {
  const reader = await store.openTableReader()
  const coverage = await reader.run(readCoverage())
  if (coverage === null) {
    await reader.close()
    return null
  }
  const { chainId, first, height, timestamp, gaps, imported } = coverage
  const whole = without([{ from: first, to: height }], gaps)
  const markets = await allRows(reader, tableOf('markets'))
  return {
    ...{ name, reader, chainId, height, timestamp, whole, imported, coverage },
    fromEvents: without(whole, imported),
    markets: new Map(markets.map(([number, id]) => [id!, number!])),
  }
}

/** Resources that stored blocks may be missing, by table. */
const NAME_OF = new Map(KEPT.flatMap(({ name, tables }) => tables.map((table) => [table.name, name])))

/** Whether a block is held without the events of a table's rows. */
function lacks({ coverage }: Side, { name }: Table, height: bigint): boolean {
  return coverage.since.some((since) => since.resource === NAME_OF.get(name) && height < since.height)
}

async function prunedRows(reader: TableReader): Promise<Comparison['isPruned']> {
  const [row] = await reader.read(tableOf('pruned'), ALL_ROWS, 1)
  const pruned = prunedBeforeOf(row?.slice(1))
  const isBefore = (value: TextCell | undefined, bound: string | null | undefined) =>
    bound !== null && bound !== undefined && value != null && BigInt(value) < BigInt(bound)
  return ({ pruned: columns }, row) =>
    columns !== null &&
    (isBefore(row[columns.time], pruned?.timestamp) || isBefore(row[columns.height], pruned?.height))
}

function compareLastBlock({ store, files, problems }: Comparison): void {
  if (store.height !== files.height) return
  const expected = isWithin(store.imported, store.height)
    ? cutToMicrosecond(files.timestamp)
    : files.timestamp
  if (store.timestamp === expected) return
  problems.add(
    'stream',
    `the last block is of ${store.timestamp} in the store and of ${files.timestamp} in the files`,
  )
}

/** Pairs the rows of store and files by key, in a table or a range of it. */
function pairsOf(
  { store, files, signal }: Comparison,
  table: Table,
  ranges: { store?: RowRange; files?: RowRange } = {},
) {
  return mergeByKey(
    walkTable(store.reader, table, ranges.store, signal),
    walkTable(files.reader, table, ranges.files, signal),
    (a, b) => compareRowKeys(table, a, b),
  )
}

/** Compares a table's rows, or those of a range of each side; returns how many were the same. */
async function compareTable(
  comparison: Comparison,
  table: Table,
  ranges: { store?: RowRange; files?: RowRange } = {},
): Promise<number> {
  let same = 0
  for await (const [ours, theirs] of pairsOf(comparison, table, ranges)) {
    let problem = problemOf(comparison, table, ours, theirs)
    let isInBoth = ours !== null && theirs !== null
    if (problem !== null && ours !== null && isImportedPoint(comparison, table, ours)) {
      const event = await eventOfPoint(comparison, table, ours)
      if (event !== null) {
        // A point repeated in a later block has no row of this block in the files.
        if (namedRow(table, event).height !== namedRow(table, ours).height) continue
        problem = problemOf(comparison, table, ours, event)
        isInBoth = true
      }
    }
    if (problem !== null) comparison.problems.add(describeRow(table, (ours ?? theirs)!), problem)
    else if (isInBoth) same++
  }
  return same
}

/** Whether a row of the store is an imported point: it may stand under another key than the event that it comes from. */
function isImportedPoint({ store }: Comparison, table: Table, ours: readonly TextCell[]): boolean {
  if (store.imported.length === 0 || table.name !== 'funding_period_data_points') return false
  return isWithin(store.imported, BigInt(namedRow(table, ours).height!))
}

/** The row of the files for the event that an imported point comes from: its time becomes the point's if it is cut. */
async function eventOfPoint(
  { store, files }: Comparison,
  table: Table,
  point: readonly TextCell[],
): Promise<readonly TextCell[] | null> {
  const { height, market, source, timestamp, seq } = namedRow(table, point)
  const marketId = [...store.markets].find(([, number]) => number === market)?.[0]
  const number = files.markets.get(marketId ?? '')
  if (number === undefined) return null
  const last = nearestInt64(BigInt(timestamp!) + MICROSECOND - 1n).toString()
  const found = await files.reader.read(
    table,
    { after: [number, source!, timestamp!, '-1'], upTo: [number, source!, last, MAX_INT64.toString()] },
    Number.MAX_SAFE_INTEGER,
  )
  // The last event of the block, or one repeated in a later block.
  const events = found.filter((row) => {
    const event = namedRow(table, row)
    return event.seq === seq && BigInt(event.height!) >= BigInt(height!)
  })
  const ofBlock = events.filter((row) => namedRow(table, row).height === height)
  const order = (a: readonly TextCell[], b: readonly TextCell[]) =>
    comparePlaces(namedRow(table, a), namedRow(table, b))
  return [...(ofBlock.length > 0 ? ofBlock : events)].sort(order).at(-1) ?? null
}

/** The market's number, the first column of points, differs from store to store. */
function compareRowKeys(table: Table, a: readonly TextCell[], b: readonly TextCell[]): number {
  const from = table.columns[0]!.name === 'market' ? 1 : 0
  const rest = { ...table, columns: table.columns.slice(from) }
  return compareKeys(rest, a.slice(from, table.keyLength), b.slice(from, table.keyLength))
}

/**
 * Compares both sides' rows of one key; null if they are consistent. A row of a later event replaces that of an earlier
 * one, so it matters whether the other side has the row's block.
 */
function problemOf(
  { store, files, isPruned }: Comparison,
  table: Table,
  ours: readonly TextCell[] | null,
  theirs: readonly TextCell[] | null,
): string | null {
  const our = ours === null ? null : namedRow(table, ours)
  const their = theirs === null ? null : namedRow(table, theirs)
  const isImported = our !== null && isWithin(store.imported, BigInt(our.height!))
  const newer = isImported && our.height === their?.height ? 0 : comparePlaces(our, their)
  if (newer > 0) {
    if (!isWithin(files.fromEvents, BigInt(our!.height!)) || isUnplacedRow(our!)) return null
    return their === null
      ? `no event of the files contains it, although they contain block ${our!.height}`
      : `it comes from ${describeEvent(our!)} in the store and from ${describeEvent(their)} in the files`
  }
  if (newer < 0) {
    const height = BigInt(their!.height!)
    if (!isWithin(store.fromEvents, height) || lacks(store, table, height)) return null
    if (our === null && isPruned(table, their!)) return null
    return our === null
      ? `missing; the files have it in ${describeEvent(their!)}`
      : `it comes from ${describeEvent(our)}, and the files have a later one in ${describeEvent(their!)}`
  }
  const startsAlike = holdBothStarts(store, files, our!, their!)
  for (const { name, merge } of table.columns) {
    if (name === 'market' || our![name] === their![name] || (merge === 'earliest' && !startsAlike)) continue
    if (isImported && (name === 'event_index' || isCutTime(name, our![name]!, their![name]!))) continue
    return `${name} is ${JSON.stringify(our![name])} in the store and ${JSON.stringify(their![name])} in the files`
  }
  return null
}

const TIMES: readonly string[] = ['timestamp', 'block_timestamp', 'start_timestamp', 'end_timestamp']

function isCutTime(name: string, ours: TextCell, theirs: TextCell): boolean {
  if (!TIMES.includes(name) || ours === null || theirs === null) return false
  return BigInt(ours) === cutToMicrosecond(BigInt(theirs))
}

/** Whether each side holds the block of the earliest event that the other one knows of a row. */
function holdBothStarts(store: Side, files: Side, our: NamedRow, their: NamedRow): boolean {
  if (our.start_height == null || their.start_height == null) return true
  return (
    isWithin(files.fromEvents, BigInt(our.start_height)) &&
    isWithin(store.fromEvents, BigInt(their.start_height))
  )
}

function describeEvent({ height, event_index: index }: NamedRow): string {
  return `block ${height}, event ${index}`
}

/** Which of two rows comes from the later event: above 0 the first. A row goes before none. */
function comparePlaces(a: NamedRow | null, b: NamedRow | null): number {
  if (a === null || b === null) return a === null ? -1 : 1
  const [place, other] = [placeOfRow(a), placeOfRow(b)]
  return isBefore(place, other) ? -1 : isBefore(other, place) ? 1 : 0
}

/** Points stand under the numbers of their markets: they are compared market by market. */
async function comparePoints(comparison: Comparison): Promise<number> {
  const { store, files } = comparison
  const table = tableOf('funding_period_data_points')
  let same = 0
  // No market has the number of one that a side does not know.
  for (const id of new Set([...store.markets.keys(), ...files.markets.keys()])) {
    same += await compareTable(comparison, table, {
      store: pointsOf(store.markets.get(id) ?? '-1'),
      files: pointsOf(files.markets.get(id) ?? '-1'),
    })
  }
  return same
}

const isPlace = (name: string) => name === 'height' || name === 'event_index'

/** Compares the providers of the markets whose lists come from the same event on both sides. */
async function compareProviders(comparison: Comparison): Promise<number> {
  const { problems } = comparison
  const sameLists = new Set<TextCell>()
  for await (const [ours, theirs] of pairsOf(comparison, tableOf('liquidity_provider_lists'))) {
    if (JSON.stringify(ours) === JSON.stringify(theirs)) sameLists.add(ours![0]!)
  }
  const table = tableOf('liquidity_providers')
  // The position of a row's last change depends on the order in which blocks arrived.
  const values = table.columns.flatMap(({ name }, index) => (isPlace(name) ? [] : [index]))
  const valuesOf = (row: readonly TextCell[]) => JSON.stringify(values.map((index) => row[index]))
  let same = 0
  for await (const [ours, theirs] of pairsOf(comparison, table)) {
    const row = (ours ?? theirs)!
    if (!sameLists.has(row[0]!)) continue
    if (ours === null) problems.add(describeRow(table, row), 'missing; the files have it')
    else if (theirs === null) problems.add(describeRow(table, row), 'the files have no such provider')
    else if (valuesOf(ours) === valuesOf(theirs)) same++
    else problems.add(describeRow(table, row), 'its fee share or SLA differs in the files')
  }
  return same
}
