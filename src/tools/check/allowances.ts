import type { Coverage } from '#core/domain/coverage'
import { isBefore } from '#core/domain/event-position'
import { type HeightRange, isWithin } from '#core/domain/height-ranges'
import { cutToMicrosecond } from '#core/domain/time'
import { STORED } from '#core/resources/stored'
import type { PrunedBefore } from '#core/store/queries/pruned'
import { type Table, type TextCell, tableOf } from '#core/store/schema/tables'
import { type NamedRow, positionOfRow } from '#core/store/walk-table'
import type { Allowances, Pair } from '../compare/compare-rows.ts'

/** The coverage of a store, or of the temporary store of event files. */
export type Covered = Coverage & {
  /**
   * Heights of completely stored blocks, including imported ones, and among these the heights of blocks with all their
   * events.
   */
  heights: readonly HeightRange[]
  fromEvents: readonly HeightRange[]
}

export type Compared = {
  store: Covered
  files: Covered
  /** Markets whose lists of providers are from the same event on both sides. */
  sameLists: ReadonlySet<TextCell>
  /** How far rows were pruned from the store; null if never. */
  pruned: PrunedBefore | null
}

/** A column in which a row of the store differs from the row of the files with the same key. */
type DifferingCell = { table: Table; column: string; inStore: NamedRow; inFiles: NamedRow }

/** A reason why a cell of a row may differ. */
type CellAllowance = (cell: DifferingCell) => boolean

/** A row of the store, `a`, and one of the files, `b`. */
export type TablePair = Pair<NamedRow> & {
  table: Table
  /**
   * The side whose row is from the event that replaces the other side's, which is usually the later one; null if both are
   * from one event.
   */
  later: 'store' | 'files' | null
}

export const POINTS = tableOf('funding_period_data_points')
export const PROVIDERS = tableOf('liquidity_providers')
const PROVIDER_HISTORY = tableOf('liquidity_provider_history')
const AUCTIONS = tableOf('auctions')
const POSITION: readonly string[] = ['height', 'event_index']
const PROVIDER_POSITIONS: readonly string[] = ['list_height', 'list_index', ...POSITION]
const TIMES: readonly string[] = [
  'timestamp',
  'block_timestamp',
  'start_timestamp',
  'expiry_timestamp',
  'end_timestamp',
]

/** The resource of each table, by the table's name. */
export const NAME_OF = new Map(
  STORED.flatMap(({ name, tables }) => tables.map((table) => [table.name, name])),
)

const isBelow = (value: TextCell | undefined, bound: string | null | undefined) =>
  value != null && bound != null && BigInt(value) < BigInt(bound)

/** Whether a row is the end of an auction with its market, which older versions did not store. */
const isEndWithMarket = (table: Table, { leave, start_timestamp }: NamedRow) =>
  table === AUCTIONS && leave === '1' && start_timestamp === '0'

/** Whether two rows of the same event have different keys if its index differs. */
const hasIndexInKey = ({ columns, keyLength }: Table) =>
  columns.slice(0, keyLength).some(({ name }) => name === 'event_index')

/** Whether a side has the block of the first event that the other side names for a row. */
const hasStart = ({ fromEvents }: Covered, { start_height: height }: NamedRow) =>
  height == null || isWithin(fromEvents, BigInt(height))

/** Whether a side has only a part of the block that one of its rows is from. */
const isOfIncompleteBlock = ({ gaps }: Covered, row: NamedRow | null) =>
  row !== null &&
  isWithin(
    gaps.filter(({ kind }) => kind === 'incomplete'),
    BigInt(row.height!),
  )

/**
 * The allowed differences between the rows of a store and those of event files: `cells` for a cell of a row that both have,
 * and `rows` for the whole row, or one that only one side has. The result of `lyra check` counts rows under the names of
 * `rows`.
 */
export function allowancesOf({ store, files, sameLists, pruned }: Compared): {
  cells: readonly CellAllowance[]
  rows: Allowances<TablePair>
} {
  const isImported = ({ height }: NamedRow) => isWithin(store.imported, BigInt(height!))

  /** The positions of a provider depend on the order in which blocks arrive; check-positions.ts compares them. */
  const isProviderPosition: CellAllowance = ({ table, column }) =>
    table === PROVIDERS && PROVIDER_POSITIONS.includes(column)

  /** An import invents the index of an event. */
  const isInventedIndex: CellAllowance = ({ column, inStore }) =>
    column === 'event_index' && isImported(inStore)

  /** A data node deletes market data long before fees, so imported fees may have no figures. */
  const isImportedWithoutFigures: CellAllowance = ({ table, column, inStore }) =>
    table === PROVIDER_HISTORY &&
    inStore.has_figures === '0' &&
    !POSITION.includes(column) &&
    isImported(inStore)

  /** A data node stores times in microseconds. */
  const isCutTime: CellAllowance = ({ column, inStore, inFiles }) =>
    TIMES.includes(column) &&
    isImported(inStore) &&
    inFiles[column] != null &&
    inStore[column] === String(cutToMicrosecond(BigInt(inFiles[column])))

  /** One side does not have the first event of a period. */
  const isStartOfOneSide: CellAllowance = ({ column, inStore, inFiles }) =>
    column.startsWith('start_') && !(hasStart(files, inStore) && hasStart(store, inFiles))

  return {
    cells: [isProviderPosition, isInventedIndex, isImportedWithoutFigures, isCutTime, isStartOfOneSide],
    rows: {
      /** The sides have different lists of the market's providers. */
      otherList: ({ table, a, b }) => table === PROVIDERS && !sameLists.has((a ?? b)!.market_id!),

      /** The files do not have the block that the store's row is from. */
      notInFiles: ({ a, later }) => later === 'store' && !isWithin(files.fromEvents, BigInt(a!.height!)),

      /** A side has only a part of the block, and the row may follow from several events of it. */
      ofPart: ({ table, a, b }) =>
        table.goesWithBlock === true && (isOfIncompleteBlock(store, a) || isOfIncompleteBlock(files, b)),

      /** The store does not have all events of the block that the files' row is from: the block is missing or imported. */
      notInStore: ({ b, later }) => later === 'files' && !isWithin(store.fromEvents, BigInt(b!.height!)),

      /** The key contains the index, which the import invented. */
      importedIndex: ({ table, a, later }) => hasIndexInKey(table) && later === 'store' && isImported(a!),

      /** An imported point whose event was sent again in a later block: the files have it there. */
      repeated: ({ table, a, later }) => later === 'files' && table === POINTS && a !== null && isImported(a),

      /** The store's row would be from a block ingested by a version that did not store the resource. */
      since: ({ table, b, later }) =>
        later === 'files' &&
        store.since.some(
          ({ resource, height }) =>
            (resource === NAME_OF.get(table.name) || isEndWithMarket(table, b!)) &&
            BigInt(b!.height!) < height,
        ),

      /** The store's row has been pruned; an earlier row with its key may have arrived since. */
      pruned: ({ table: { pruned: columns }, b, later }) =>
        later === 'files' &&
        columns !== undefined &&
        (isBelow(b![columns.time], pruned?.timestamp) || isBelow(b![columns.height], pruned?.height)),
    },
  }
}

/**
 * The side whose row is from the later event, or of two rows that are not full, from the earlier one; see `fullIf` of {@link
 * Table}.
 */
export function laterOf(table: Table, { a, b, fields }: Pair<NamedRow>): TablePair['later'] {
  // The positions of providers are not compared as those of other rows.
  if (table === PROVIDERS) return null
  if (a === null || b === null) return a === null ? 'files' : 'store'
  if (!fields.some((name) => POSITION.includes(name))) return null
  if (table.fullIf !== undefined && (a[table.fullIf] !== '1' || b[table.fullIf] !== '1')) {
    const isOfStore =
      a[table.fullIf] === b[table.fullIf]
        ? isBefore(positionOfRow(a), positionOfRow(b))
        : a[table.fullIf] === '1'
    return isOfStore ? 'store' : 'files'
  }
  return isBefore(positionOfRow(a), positionOfRow(b)) ? 'files' : 'store'
}
