import { type Coverage, type HeightRange, isWithin } from '#core/domain/coverage'
import { isBefore } from '#core/domain/event-position'
import { cutToMicrosecond } from '#core/domain/time'
import { STORED } from '#core/resources/stored'
import type { PrunedBefore } from '#core/store/queries/holdings'
import { type Table, type TextCell, tableOf } from '#core/store/schema/tables'
import { type NamedRow, positionOfRow } from '#core/store/walk-table'
import type { Allowances, Pair } from '../compare/compare-rows.ts'

/** The coverage of a store, or of one made from event files. */
export type Covered = Coverage & {
  /** Heights of completely stored blocks, imported ones too; of these, those with all their events. */
  heights: readonly HeightRange[]
  fromEvents: readonly HeightRange[]
}

export type Compared = {
  store: Covered
  files: Covered
  /** Markets whose lists of providers are from the same event on both sides. */
  sameLists: ReadonlySet<TextCell>
  /** Bounds of the rows that were pruned from the store. */
  pruned: PrunedBefore | null
}

/** A column in which a row of the store differs from one of the files. */
type DifferingCell = { table: Table; name: string; a: NamedRow; b: NamedRow }

/** A row of the store, `a`, and one of the files, `b`. */
export type TablePair = Pair<NamedRow> & {
  table: Table
  /** The side whose row is from the event that replaces the other one's, usually the later one; null: both are from one. */
  later: 'store' | 'files' | null
}

export const POINTS = tableOf('funding_period_data_points')
export const PROVIDERS = tableOf('liquidity_providers')
const PROVIDER_HISTORY = tableOf('liquidity_provider_history')
const PAID_FEES = tableOf('paid_liquidity_fees')
const AUCTIONS = tableOf('auctions')
const PLACE: readonly string[] = ['height', 'event_index']
const PROVIDER_PLACES: readonly string[] = ['list_height', 'list_index', ...PLACE]
const TIMES: readonly string[] = ['timestamp', 'block_timestamp', 'start_timestamp', 'end_timestamp']

/** Names of what is stored, by table. */
export const NAME_OF = new Map(
  STORED.flatMap(({ name, tables }) => tables.map((table) => [table.name, name])),
)

const isBelow = (value: TextCell | undefined, bound: string | null | undefined) =>
  value != null && bound != null && BigInt(value) < BigInt(bound)

/** Whether a row is the end of an auction with its market, which older versions did not store. */
const isEndWithMarket = (table: Table, { leave, start_timestamp }: NamedRow) =>
  table === AUCTIONS && leave === '1' && start_timestamp === '0'

/** Whether a side has the block of the first event that the other one knows of a row. */
const hasStart = ({ fromEvents }: Covered, { start_height: height }: NamedRow) =>
  height == null || isWithin(fromEvents, BigInt(height))

/** Whether a side has only a part of the block that a row of it is from. */
const isOfPart = ({ gaps }: Covered, row: NamedRow | null) =>
  row !== null &&
  isWithin(
    gaps.filter(({ kind }) => kind === 'incomplete'),
    BigInt(row.height!),
  )

/** Allowed differences between the rows of a store and those of event files: in cells, and whole rows. */
export function allowancesOf({ store, files, sameLists, pruned }: Compared): {
  cells: Allowances<DifferingCell>
  rows: Allowances<TablePair>
} {
  const isImported = ({ height }: NamedRow) => isWithin(store.imported, BigInt(height!))
  return {
    cells: {
      // The positions of a provider depend on the order in which blocks arrive; check-positions.ts compares them.
      providerChange: ({ table, name }) => table === PROVIDERS && PROVIDER_PLACES.includes(name),
      // Invented by the import.
      importedIndex: ({ name, a }) => name === 'event_index' && isImported(a),
      // A data node deletes market data long before fees.
      importedFees: ({ table, name, a }) =>
        table === PROVIDER_HISTORY && a.has_figures === '0' && !PLACE.includes(name) && isImported(a),
      // A data node keeps no more digits.
      importedTime: ({ name, a, b }) =>
        TIMES.includes(name) &&
        isImported(a) &&
        b[name] != null &&
        a[name] === String(cutToMicrosecond(BigInt(b[name]))),
      // One side does not have the first event of a period.
      start: ({ name, a, b }) => name.startsWith('start_') && !(hasStart(files, a) && hasStart(store, b)),
    },
    rows: {
      otherList: ({ table, a, b }) => table === PROVIDERS && !sameLists.has((a ?? b)!.market_id!),
      notInFiles: ({ a, later }) => later === 'store' && !isWithin(files.fromEvents, BigInt(a!.height!)),
      // It may follow from several events of its block.
      ofPart: ({ table, a, b }) => table.goesWithBlock === true && (isOfPart(store, a) || isOfPart(files, b)),
      // An imported block has only the rows that the import contained.
      notInStore: ({ b, later }) => later === 'files' && !isWithin(store.fromEvents, BigInt(b!.height!)),
      // The index that the import invented is a part of the key.
      importedIndex: ({ table, a, later }) => table === PAID_FEES && later === 'store' && isImported(a!),
      // An imported point whose event came again: the files have it in the later block.
      repeated: ({ table, a, later }) => later === 'files' && table === POINTS && a !== null && isImported(a),
      since: ({ table, b, later }) =>
        later === 'files' &&
        store.since.some(
          ({ resource, height }) =>
            (resource === NAME_OF.get(table.name) || isEndWithMarket(table, b!)) &&
            BigInt(b!.height!) < height,
        ),
      pruned: ({ table: { pruned: columns }, a, b }) =>
        a === null &&
        columns !== undefined &&
        (isBelow(b![columns.time], pruned?.timestamp) || isBelow(b![columns.height], pruned?.height)),
    },
  }
}

/** Of providers, their list says from which event they are. */
export function laterOf(table: Table, { a, b, fields }: Pair<NamedRow>): TablePair['later'] {
  if (table === PROVIDERS) return null
  if (a === null || b === null) return a === null ? 'files' : 'store'
  if (!fields.some((name) => PLACE.includes(name))) return null
  if (table.fullIf !== undefined && (a[table.fullIf] !== '1' || b[table.fullIf] !== '1')) {
    const isOfStore =
      a[table.fullIf] === b[table.fullIf]
        ? isBefore(positionOfRow(a), positionOfRow(b))
        : a[table.fullIf] === '1'
    return isOfStore ? 'store' : 'files'
  }
  return isBefore(positionOfRow(a), positionOfRow(b)) ? 'files' : 'store'
}
