import { type Missing, missingOf } from '../../../domain/missing.ts'
import type { ProviderSla } from '../../../events/event.ts'
import type { Row } from '../../../model/resource.ts'
import { auctions } from '../../../resources/auctions/description.ts'
import { epochs } from '../../../resources/epochs/description.ts'
import { liquidityProviders } from '../../../resources/liquidity-providers/description.ts'
import { LIVE_STATUSES } from '../../../resources/liquidity-providers/table.ts'
import type { StoreVersion } from '../../changes.ts'
import type { StoreHead } from '../../pages/page.ts'
import type { Query } from '../../queries-protocol.ts'
import { readFilledStore } from '../freshness.ts'
import { readMarketTerms } from './market-terms.ts'
import { readRunningEpoch } from './running-epoch.ts'
import { type Standing, standingOf } from './standing.ts'

/** The requested providers: of a market, or of a party, or of both; of all markets if neither is given. */
export type StandingQuery = { marketId: string | null; partyId: string | null }

/** The standing of providers, by market and party; in one snapshot. */
type StandingsAt = {
  storeHead: StoreHead
  version: StoreVersion
  standings: readonly Standing[]
  /** Whether there are more than the most that were asked for; then none is given. */
  areTooMany: boolean
} & Missing

/** So many providers are given to a client at most. */
export const MOST_STANDINGS = 5_000

const IS_LIVE = `provisions.status in (${LIVE_STATUSES.join(', ')})`

const IN_ORDER = 'order by provisions.market_id, provisions.party_id limit'

const READ_OF_ALL = `
  select distinct market_id, party_id from liquidity_provisions as provisions
  where ${IS_LIVE} ${IN_ORDER} $1`

const READ_OF_MARKET = `
  select distinct market_id, party_id from liquidity_provisions as provisions
  where market_id = $1 and ${IS_LIVE} ${IN_ORDER} $2`

const READ_OF_BOTH = `
  select distinct market_id, party_id from liquidity_provisions as provisions
  where market_id = $1 and party_id = $2 and ${IS_LIVE} ${IN_ORDER} $3`

/** The index of provisions begins with the market, of which there are few. */
const READ_OF_PARTY = `
  select distinct provisions.market_id, provisions.party_id
  from markets cross join liquidity_provisions as provisions
  where provisions.market_id = markets.market_id and provisions.party_id = $1 and ${IS_LIVE} ${IN_ORDER} $2`

const COUNT_ALL = `
  select cast(count(*) as text) from (
    select distinct market_id, party_id from liquidity_provisions as provisions where ${IS_LIVE}
  ) as providers`

/** The SLA of the requested providers: some of them have none. */
const READ_SLAS = (conditions: readonly string[]) => `
  select market_id, party_id, sla from liquidity_providers
  where ${[...conditions, liquidityProviders.storage.condition].join(' and ')}`

/** The number of providers with a live provision, each counted once for each market. */
export function* countProviders(): Query<number> {
  const [row] = yield { text: COUNT_ALL }
  return Number(row![0])
}

/**
 * Reads how providers stand in the running epoch; null in an empty store.
 *
 * @param most how many providers are given at most
 */
export function* readStandings(query: StandingQuery, most = MOST_STANDINGS): Query<StandingsAt | null> {
  const filled = yield* readFilledStore()
  if (filled === null) return null
  const { storeHead, version, coverage } = filled
  const epoch = yield* readRunningEpoch()
  const since = epoch?.beforeStart ?? null
  const missing = missingOf(coverage, [
    // A provision of any time may be live.
    { resource: liquidityProviders.name, start: null, end: null },
    { resource: epochs.name, start: since, end: null },
    { resource: auctions.name, start: since, end: null },
  ])
  const answer = { storeHead, version, missing: missing.missing, since: missing.since }
  const { providers, slaRows } = yield* readProviders(query, most)
  if (providers.length > most) return { ...answer, standings: [], areTooMany: true }
  const slas = new Map(slaRows.map(([marketId, partyId, sla]) => [`${marketId} ${partyId}`, sla]))
  const markets = yield* readMarketTerms([...new Set(providers.map(([marketId]) => String(marketId)))], epoch)
  const standings = providers.map(([marketId, partyId]) => {
    const sla = slas.get(`${marketId} ${partyId}`)
    return standingOf(
      { marketId: String(marketId), partyId: String(partyId) },
      sla == null ? null : (JSON.parse(String(sla)) as ProviderSla),
      markets.get(String(marketId))!,
      epoch,
    )
  })
  return { ...answer, standings, areTooMany: false }
}

/** The live provisions, by market and party, each pair once, and the SLA of those that are listed by their market. */
function* readProviders(
  query: StandingQuery,
  most: number,
): Query<{ providers: readonly Row[]; slaRows: readonly Row[] }> {
  const values = [query.marketId, query.partyId].filter((id) => id !== null)
  const { text, conditions } = providersStatement(query)
  const rows = yield { text, values: [...values, BigInt(most + 1)] }
  if (rows.length > most) return { providers: rows, slaRows: [] }
  return { providers: rows, slaRows: yield { text: READ_SLAS(conditions), values } }
}

/** The statement that reads the requested providers, whose last value is a limit, and the same request as conditions. */
function providersStatement({ marketId, partyId }: StandingQuery): {
  text: string
  conditions: readonly string[]
} {
  if (marketId !== null && partyId !== null)
    return { text: READ_OF_BOTH, conditions: ['market_id = $1', 'party_id = $2'] }
  if (marketId !== null) return { text: READ_OF_MARKET, conditions: ['market_id = $1'] }
  if (partyId !== null) return { text: READ_OF_PARTY, conditions: ['party_id = $1'] }
  return { text: READ_OF_ALL, conditions: [] }
}
