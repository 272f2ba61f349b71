import { json, lowerCase, marketId, orNull, partyId, positionColumns, small } from '../../model/columns.ts'
import { defineTable, type TextRow } from '../../model/table.ts'

/** The highest number of `LiquidityProvision.Status`. */
export const LAST_STATUS = 6

/** Statuses of a provision that is live: active, undeployed, pending (docs/events.md). */
export const LIVE_STATUSES: readonly unknown[] = [1, 5, 6]

/** A provision as of its latest event. */
export const provisionTable = defineTable({
  name: 'liquidity_provisions',
  counted: 'liquidityProvisions',
  columns: {
    provision_id: lowerCase(),
    market_id: marketId(),
    party_id: partyId(),
    status: small(LAST_STATUS),
    ...positionColumns,
  },
  key: ['provision_id'],
  distribution: 'everywhere',
  alsoChanges: 'providers',
  movesBetweenMarkets: true,
})

/** The market data from which a market's list of providers is. */
export const providerListTable = defineTable({
  name: 'liquidity_provider_lists',
  columns: { market_id: marketId(), ...positionColumns },
  key: ['market_id'],
  distribution: 'market_id',
})

/**
 * Fee share and SLA are the JSON that answers contain. A row has two positions: first that of the list with its figures,
 * last its own position in the stream. A provision that makes the party visible again moves the latter too
 * (store/write/providers/write-providers.ts).
 */
export const providerTable = defineTable({
  name: 'liquidity_providers',
  counted: 'liquidityProviders',
  columns: {
    market_id: marketId(),
    party_id: partyId(),
    fee_share: json(),
    sla: orNull(json()),
    list_height: positionColumns.height,
    list_index: positionColumns.event_index,
    ...positionColumns,
  },
  key: ['market_id', 'party_id'],
  distribution: 'market_id',
  faultsOf,
})

function faultsOf({ party_id: party, fee_share: feeShare, sla }: TextRow): string[] {
  return Object.entries({ fee_share: feeShare, sla }).flatMap(([name, json]) =>
    json == null || partyOf(json) === party
      ? []
      : [`${name} is not an element of this party: ${json.slice(0, 100)}`],
  )
}

function partyOf(json: string): unknown {
  try {
    return (JSON.parse(json) as { party?: unknown } | null)?.party
  } catch {
    return undefined
  }
}
