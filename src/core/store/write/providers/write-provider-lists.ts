import { type EventPosition, hasBlock, isBefore } from '../../../domain/event-position.ts'
import type { MarketDataSequence } from '../../../model/batch.ts'
import type { Row } from '../../../model/resource.ts'
import type { RowOf } from '../../../model/table.ts'
import {
  type LiquidityProviderRow,
  liquidityProviderRows,
} from '../../../resources/liquidity-providers/rows.ts'
import { providerListTable, providerTable } from '../../../resources/liquidity-providers/table.ts'
import { haveSameListBytes } from '../../../resources/market-data/same-lists.ts'
import { positionOf } from '../../queries/unseen/positioned-rows.ts'
import { type Mutation, readEach } from '../../queries-protocol.ts'
import { latest, type ProviderMoves, partyOf } from './provider-moves.ts'

/** The data of each market in a commit, which contain its lists of providers, by market id. */
export type MarketLists = ReadonlyMap<string, MarketDataSequence>

const READ_LIST = `
  select cast(height as text), event_index from liquidity_provider_lists where market_id = $1`

/** A list that arrives after a later one of the market may differ from it in any row. */
const MOVE_TO_LIST = `
  update liquidity_providers set list_height = $2, list_index = $3,
    height = case when (height, event_index) < ($2, $3) then $2 else height end,
    event_index = case when (height, event_index) < ($2, $3) then $3 else event_index end
  where market_id = $1`

const READ_PROVIDERS = `
  select party_id, fee_share, sla, cast(list_height as text), list_index, cast(height as text), event_index
  from liquidity_providers where market_id = $1`

const DELETE_PROVIDER =
  'delete from liquidity_providers where market_id = $1 and party_id = $2 returning party_id'

/**
 * Writes lists that are newer than the stored one of their market: only rows that differ.
 *
 * @param moves the positions to which provisions of the commit have moved providers
 */
export function* writeProviderLists(lists: MarketLists, moves: ProviderMoves): Mutation {
  const { newer, overtaken } = yield* compareWithStored(lists)
  if (overtaken.size > 0) {
    const each = [...overtaken].map(([marketId, { height, index }]) => [marketId, height, index])
    yield { text: MOVE_TO_LIST, each }
  }
  if (newer.size === 0) return
  const rows: RowOf<typeof providerTable>[] = []
  const gone: [marketId: string, partyId: string][] = []
  for (const [marketId, stored] of yield* readProviders([...newer.keys()])) {
    const changes = changesOfProviders(newer.get(marketId)!, stored)
    for (const change of changes.changed) {
      const { partyId } = change.figures
      const positions = [stored.get(partyId)?.position, moves.of(partyOf(marketId, partyId))]
      rows.push(providerRow(marketId, change, latest(change.listPosition, ...positions)))
    }
    for (const partyId of changes.gone) gone.push([marketId, partyId])
  }
  if (gone.length > 0) yield { text: DELETE_PROVIDER, each: gone, deletesFrom: providerTable }
  yield {
    table: providerListTable,
    rows: [...newer].map(([marketId, { data }]) => listRow(marketId, data.last)),
  }
  yield { table: providerTable, rows }
}

/** A market's data of a commit, and the position of the stored list, from which on they count. */
type NewerData = { data: MarketDataSequence; from: EventPosition | null }

/** Data of a commit, compared with the stored list of their market. */
type ComparedLists = {
  /** Those of markets whose last data are not before the stored list. */
  newer: ReadonlyMap<string, NewerData>
  /** For each market with a list that is before the stored one, the position of that. */
  overtaken: ReadonlyMap<string, EventPosition>
}

function* compareWithStored(lists: MarketLists): Mutation<ComparedLists> {
  const newer = new Map<string, NewerData>()
  const overtaken = new Map<string, EventPosition>()
  for (const [marketId, [row]] of yield* readEach(READ_LIST, [...lists.keys()], (id) => [id])) {
    const data = lists.get(marketId)!
    const from = row === undefined ? null : positionOf(row)
    if (from === null || !isBefore(data.last, from)) newer.set(marketId, { data, from })
    if (from !== null && hasListBefore(data, from)) overtaken.set(marketId, from)
  }
  return { newer, overtaken }
}

/** Whether data of a block, whose rows a follower may have received, are before a position. */
function hasListBefore(data: MarketDataSequence, position: EventPosition): boolean {
  if (!isBefore(data.first, position)) return false
  return [data.last, ...data.earlier()].some(
    ({ height, index }) => hasBlock(height) && isBefore({ height, index }, position),
  )
}

/** A provider's figures, with the position of the list since which it has had them. */
type ListedProvider = { figures: LiquidityProviderRow; listPosition: EventPosition }

/** A stored row: its figures with the position of their list, and the row's own position. */
type StoredProvider = ListedProvider & { position: EventPosition }

/** Reads the stored providers of markets: those of each market by party. */
function* readProviders(
  markets: readonly string[],
): Mutation<[marketId: string, stored: ReadonlyMap<string, StoredProvider>][]> {
  const stored = yield* readEach(READ_PROVIDERS, markets, (marketId) => [marketId])
  return stored.map(([marketId, rows]) => [
    marketId,
    new Map(rows.map((row) => [String(row[0]), storedProvider(row)])),
  ])
}

function storedProvider([partyId, feeShare, sla, listHeight, listIndex, ...position]: Row): StoredProvider {
  return {
    figures: {
      partyId: String(partyId),
      feeShare: String(feeShare),
      sla: sla === null ? null : String(sla),
    },
    listPosition: positionOf([listHeight!, listIndex!]),
    position: positionOf(position),
  }
}

/** The changes by a market's lists: providers with other figures than stored, and parties that are no longer listed. */
type ProviderChanges = { changed: ListedProvider[]; gone: string[] }

/**
 * Compares the last of a market's newer lists with the stored rows. If the list of block 4 is stored, and those of 5 and 6 are
 * newer, this changes of the fee shares of five parties:
 *
 * | party | stored | list of 5 | list of 6 | written |
 * |---|---|---|---|---|
 * | A | 0.1, since 4 | 0.1 | 0.1 | nothing |
 * | B | 0.1, since 4 | 0.2 | 0.2 | 0.2, since 5 |
 * | C | 0.1, since 4 | 0.2 | 0.1 | 0.1, since 6, as if 5 had been committed alone |
 * | D | - | - | 0.1 | 0.1, since 6 |
 * | E | 0.1, since 4 | 0.1 | - | its row is deleted |
 */
function changesOfProviders(newer: NewerData, stored: ReadonlyMap<string, StoredProvider>): ProviderChanges {
  const { listed, inAllLists } = listedProviders(newer)
  const changed = new Map(listed)
  for (const { figures } of inAllLists) {
    const row = stored.get(figures.partyId)
    // No follower has received a row without a position.
    if (row !== undefined && hasBlock(row.listPosition.height) && isSame(figures, row.figures)) {
      changed.delete(figures.partyId)
    }
  }
  const gone = [...stored.keys()].filter((partyId) => !listed.has(partyId))
  return { changed: [...changed.values()], gone }
}

/** The providers of a market's last list, each with the position of the list since which it has these figures. */
type ListedProviders = {
  /** By party. */
  listed: ReadonlyMap<string, ListedProvider>
  /** Those that have the same figures in all newer lists. */
  inAllLists: readonly ListedProvider[]
}

/**
 * Goes back from the last list as long as any provider has the same figures. Most figures change with each list, or none
 * does, so few lists need to be decoded.
 */
function listedProviders({ data, from }: NewerData): ListedProviders {
  const { last } = data
  const listed = new Map(
    liquidityProviderRows(last.event).map((figures): [string, ListedProvider] => [
      figures.partyId,
      { figures, listPosition: last },
    ]),
  )
  let unchanged = [...listed.values()]
  let later = last
  for (const list of data.earlier()) {
    if (unchanged.length === 0 || (from !== null && isBefore(list, from))) break
    if (!haveSameListBytes(list.event, later.event)) {
      const earlier = new Map(liquidityProviderRows(list.event).map((figures) => [figures.partyId, figures]))
      unchanged = unchanged.filter(({ figures }) => isSame(figures, earlier.get(figures.partyId)))
    }
    later = list
    // No follower has received a row without a position.
    if (hasBlock(list.height)) for (const provider of unchanged) provider.listPosition = list
  }
  return { listed, inAllLists: unchanged }
}

function isSame(one: LiquidityProviderRow, other: LiquidityProviderRow | undefined): boolean {
  return other !== undefined && one.feeShare === other.feeShare && one.sla === other.sla
}

/** @param position the row's own position */
function providerRow(
  marketId: string,
  { figures: { partyId, feeShare, sla }, listPosition }: ListedProvider,
  position: EventPosition,
): RowOf<typeof providerTable> {
  return {
    market_id: marketId,
    party_id: partyId,
    fee_share: feeShare,
    sla,
    list_height: listPosition.height,
    list_index: listPosition.index,
    height: position.height,
    event_index: position.index,
  }
}

function listRow(marketId: string, { height, index }: EventPosition): RowOf<typeof providerListTable> {
  return { market_id: marketId, height, event_index: index }
}
