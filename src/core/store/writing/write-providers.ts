import { hasBlock, isBefore, notBeforeInSql, type Place } from '../../domain/place.ts'
import type { LiquidityProviderList } from '../../resources/batch.ts'
import { liquidityProviderRows } from '../../resources/liquidity-providers/rows.ts'
import { LIVE_STATUSES, providerTable, provisionTable } from '../../resources/liquidity-providers/table.ts'
import type { RowOf } from '../../resources/table.ts'
import type { Steps, Values } from '../steps.ts'

type ProviderRow = RowOf<typeof providerTable>

const READ_PROVISION = `
  select market_id, party_id, status, cast(height as text), event_index
  from liquidity_provisions where provision_id = $1`

/** A provider reappears when it has a live provision: followers see this as a change of the row. */
const TOUCH_PROVIDER = `
  update liquidity_providers set height = $3, event_index = $4 where market_id = $1 and party_id = $2`

/** Returns a row if the market's list may be replaced. */
const CLAIM_PROVIDER_LIST = `
  insert into liquidity_provider_lists (market_id, height, event_index) values ($1, $2, $3)
  on conflict (market_id) do update set height = excluded.height, event_index = excluded.event_index
    where ${notBeforeInSql('excluded', 'liquidity_provider_lists')}
  returning market_id`

const READ_PROVIDER_PARTIES = 'select party_id from liquidity_providers where market_id = $1'

const DELETE_PROVIDER = 'delete from liquidity_providers where market_id = $1 and party_id = $2'

/** Positions at which providers reappeared, by market and party. */
export type ShownProviders = Map<string, Place & { marketId: string; partyId: string }>

const providerKey = (marketId: unknown, partyId: unknown) => `${marketId} ${partyId}`

/** Writes provisions; returns the providers that they let be shown. */
export function* writeProvisions(rows: readonly RowOf<typeof provisionTable>[]): Steps<ShownProviders> {
  const ids = [...new Set(rows.map((row) => row.provision_id))].map((id): Values => [id])
  const before = yield { text: READ_PROVISION, values: ids }
  yield { table: provisionTable, rows }
  const after = yield { text: READ_PROVISION, values: ids }
  const shown: ShownProviders = new Map()
  for (const [at, [now]] of after.entries()) {
    const was = before[at]![0]
    const [marketId, partyId, status, heightText, index] = now!
    const isLive = LIVE_STATUSES.includes(Number(status))
    const height = BigInt(heightText!)
    // Imported rows from before the imported blocks have no position that a follower could see.
    if (!isLive || !hasBlock(height)) continue
    const wasShown = was !== undefined && LIVE_STATUSES.includes(Number(was[2])) && hasBlock(BigInt(was[3]!))
    if (wasShown && was[0] === marketId && was[1] === partyId) continue
    const place = { height, index: Number(index) }
    const key = providerKey(marketId, partyId)
    const known = shown.get(key)
    if (known === undefined || !isBefore(place, known)) {
      shown.set(key, { marketId: String(marketId), partyId: String(partyId), ...place })
    }
  }
  if (shown.size > 0) {
    yield {
      text: TOUCH_PROVIDER,
      values: [...shown.values()].map(({ marketId, partyId, ...place }) => [
        ...[marketId, partyId, place.height, place.index],
      ]),
    }
  }
  return shown
}

/**
 * A list is written only if it is newer than the market's stored one. Its rows get the position of their last committed
 * change, from which followers read on.
 */
export function* writeProviderLists(lists: readonly LiquidityProviderList[], shown: ShownProviders): Steps {
  if (lists.length === 0) return
  const claims = yield {
    text: CLAIM_PROVIDER_LIST,
    values: lists.map(({ event, height, index }) => [event.marketId, height, index]),
  }
  const claimed = lists.filter((_, index) => claims[index]!.length > 0)
  if (claimed.length === 0) return
  const known = yield { text: READ_PROVIDER_PARTIES, values: claimed.map(({ event }) => [event.marketId]) }
  const rows: ProviderRow[] = []
  const gone: Values[] = []
  for (const [at, { event, height, index }] of claimed.entries()) {
    const { marketId } = event
    const providers = liquidityProviderRows(event)
    const parties = new Set(providers.map(({ partyId }) => partyId))
    for (const [party] of known[at]!) {
      if (!parties.has(party as string)) gone.push([marketId, party!])
    }
    for (const { partyId, feeShare, sla } of providers) {
      const touched = shown.get(providerKey(marketId, partyId))
      const own = { height, index }
      const last = touched !== undefined && !isBefore(touched, own) ? touched : own
      rows.push({
        market_id: marketId,
        party_id: partyId,
        fee_share: feeShare,
        sla,
        height: last.height,
        event_index: last.index,
      })
    }
  }
  if (gone.length > 0) yield { text: DELETE_PROVIDER, values: gone }
  yield { table: providerTable, rows }
}
