import { parseDecimal, textOfDecimal } from '../../domain/decimal.ts'
import { greatest } from '../../domain/integers.ts'
import { type Missing, missingOf } from '../../domain/missing.ts'
import { type EpochSoFar, standingIn } from '../../domain/provider-standing.ts'
import type { ProviderSla } from '../../events/event.ts'
import { TRADING_MODES } from '../../events/market-enums.ts'
import type { Row } from '../../model/resource.ts'
import { epochs } from '../../resources/epochs/description.ts'
import { liquidityProviders } from '../../resources/liquidity-providers/description.ts'
import { LIVE_STATUSES } from '../../resources/liquidity-providers/table.ts'
import type { StoreVersion } from '../changes.ts'
import type { StoreHead } from '../pages/page.ts'
import { fromClause } from '../pages/scan-sql.ts'
import type { Query } from '../queries-protocol.ts'
import { readFilledStore } from './freshness.ts'

/** The requested providers: of a market, or of a party, or of both; of all markets if neither is given. */
export type StandingQuery = { marketId: string | null; partyId: string | null }

/** The standing of a provider, as the API has it; null if what a field follows from is not known (docs/api.md, standing). */
export type Standing = {
  marketId: string
  partyId: string
  epoch: string | null
  epochStart: string | null
  epochExpectedEnd: string | null
  at: string | null
  timeOnBook: string | null
  minimum: string | null
  elapsed: string | null
  ifLeft: string | null
  stillNeeded: string | null
  feePenaltyIfLeft: string | null
  feePenaltyLastEpoch: string | null
}

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

/** The latest two epochs; the last column is the height of the block in which each started. */
const READ_EPOCHS = `
  select cast(epoch as text), cast(start_timestamp as text), cast(expiry_timestamp as text),
    cast(end_timestamp as text), cast(end_block as text), (
      select cast(starts.height as text) from epochs as starts where starts.epoch = epoch_rows.epoch
    )
  from ${fromClause(epochs)} order by epoch_rows.epoch desc limit 2`

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

/** The time and mode of the market data from which a market's list of providers is. */
const READ_LIST_DATA = `
  select data.market_id, cast(data.timestamp as text), data.trading_mode
  from market_data as data join liquidity_provider_lists as lists
    on lists.market_id = data.market_id and lists.height = data.height and lists.event_index = data.event_index
  where data.market_id = $1`

const READ_TERMS = `
  select market_id, sla_min_time_fraction, sla_competition_factor from instrument_terms where market_id = $1`

/** The end of a market's opening auction, if it is not before a height. */
const READ_OPENED = `
  select market_id, cast(max(end_timestamp) as text) from auctions
  where market_id = $1 and height >= $2 and opening_auction and leave group by market_id`

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
  const epoch = runningEpoch(yield { text: READ_EPOCHS })
  const since = epoch?.beforeStart ?? null
  const missing = missingOf(coverage, [
    // A provision of any time may be live.
    { resource: 'liquidityProviders', start: null, end: null },
    { resource: 'epochs', start: since, end: null },
    { resource: 'auctions', start: since, end: null },
  ])
  const answer = { storeHead, version, missing: missing.missing, since: missing.since }
  const { providers, slaRows } = yield* readProviders(query, most)
  if (providers.length > most) return { ...answer, standings: [], areTooMany: true }
  const slas = new Map(slaRows.map(([marketId, partyId, sla]) => [`${marketId} ${partyId}`, sla]))
  const markets = yield* readMarkets([...new Set(providers.map(([marketId]) => String(marketId)))], epoch)
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

/** The epoch that runs; what no event has set is null. */
type RunningEpoch = {
  epoch: string
  start: bigint | null
  /** The height of the block in which it started. */
  height: bigint
  expectedEnd: bigint | null
  /** The start of the epoch before. */
  beforeStart: bigint | null
}

/**
 * The running epoch, from rows of {@link READ_EPOCHS}; null if none is stored, or the last one has ended. The core ends every
 * epoch as long after its expiry as the one before, so that is its expected end.
 */
function runningEpoch([last, before]: readonly Row[]): RunningEpoch | null {
  if (last === undefined) return null
  const [epoch, start, expiry, , endBlock, height] = last
  if (endBlock !== null) return null
  const timeOf = (value: Row[number] | undefined) => (value == null ? null : BigInt(value))
  const isNext = before !== undefined && BigInt(before[0]!) + 1n === BigInt(epoch!)
  const [, beforeStart, beforeExpiry, beforeEnd] = isNext ? before : []
  return {
    epoch: String(epoch),
    start: timeOf(start),
    height: BigInt(height!),
    expectedEnd:
      expiry == null || beforeExpiry == null || beforeEnd == null
        ? null
        : BigInt(expiry) + BigInt(beforeEnd) - BigInt(beforeExpiry),
    beforeStart: timeOf(beforeStart),
  }
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

/** What a market's latest data and terms say; null if it is not known. */
type MarketTerms = {
  /** The time of the data. */
  at: bigint | null
  isInOpeningAuction: boolean
  /** The end of its opening auction, if that was in the running epoch. */
  opened: bigint | null
  minimum: string | null
  competitionFactor: string | null
}

function* readMarkets(
  markets: readonly string[],
  epoch: RunningEpoch | null,
): Query<ReadonlyMap<string, MarketTerms>> {
  const each = markets.map((marketId): [string] => [marketId])
  const byMarket = (rows: readonly Row[]) => new Map(rows.map((row) => [String(row[0]), row]))
  const data = byMarket(yield { text: READ_LIST_DATA, each })
  const terms = byMarket(yield { text: READ_TERMS, each })
  const opened =
    epoch === null
      ? new Map<string, Row>()
      : byMarket(yield { text: READ_OPENED, each: markets.map((marketId) => [marketId, epoch.height]) })
  return new Map(
    markets.map((marketId) => {
      const [, at, mode] = data.get(marketId) ?? []
      const [, minimum, competitionFactor] = terms.get(marketId) ?? []
      const [, end] = opened.get(marketId) ?? []
      return [
        marketId,
        {
          at: at == null ? null : BigInt(at),
          isInOpeningAuction: TRADING_MODES[Number(mode ?? 0)] === 'TRADING_MODE_OPENING_AUCTION',
          opened: end == null ? null : BigInt(end),
          minimum: numberOrNull(minimum),
          competitionFactor: numberOrNull(competitionFactor),
        },
      ]
    }),
  )
}

function standingOf(
  { marketId, partyId }: { marketId: string; partyId: string },
  sla: ProviderSla | null,
  market: MarketTerms,
  epoch: RunningEpoch | null,
): Standing {
  const at = sla === null ? null : market.at
  // Older data are of an epoch before.
  const isOfEpoch = at !== null && epoch?.start != null && at >= epoch.start
  const timeOnBook = isOfEpoch ? numberOrNull(sla?.currentEpochFractionOfTimeOnBook) : null
  const expectedEnd =
    epoch?.expectedEnd == null ? null : greatest([epoch.expectedEnd, at ?? epoch.expectedEnd])
  const { elapsed, ifLeft, stillNeeded, feePenaltyIfLeft } = standingIn(
    isOfEpoch && expectedEnd !== null ? epochSoFar(epoch!.start!, at!, expectedEnd, market) : null,
    {
      timeOnBook: decimalOf(timeOnBook),
      earlierPenalties: sla === null ? null : decimalsOf(sla.hysteresisPeriodFeePenalties),
      minimum: decimalOf(market.minimum),
      competitionFactor: decimalOf(market.competitionFactor),
    },
  )
  const textOf = (value: typeof elapsed) => (value === null ? null : textOfDecimal(value))
  return {
    marketId,
    partyId,
    epoch: epoch?.epoch ?? null,
    epochStart: epoch?.start?.toString() ?? null,
    epochExpectedEnd: expectedEnd?.toString() ?? null,
    at: at?.toString() ?? null,
    timeOnBook,
    minimum: market.minimum,
    elapsed: textOf(elapsed),
    ifLeft: textOf(ifLeft),
    stillNeeded: textOf(stillNeeded),
    feePenaltyIfLeft: textOf(feePenaltyIfLeft),
    feePenaltyLastEpoch: numberOrNull(sla?.lastEpochFeePenalty),
  }
}

/** The epoch as a market counts it: from the end of its opening auction on, if that was later. Null while that lasts. */
function epochSoFar(
  start: bigint,
  at: bigint,
  expectedEnd: bigint,
  { isInOpeningAuction, opened }: MarketTerms,
): EpochSoFar | null {
  if (isInOpeningAuction) return null
  const isLater = opened !== null && opened > start && opened <= at
  return { start: isLater ? opened : start, at, expectedEnd }
}

/** A number of an event; null for an empty text, which is not known. */
function numberOrNull(text: Row[number] | undefined): string | null {
  return text == null || text === '' ? null : String(text)
}

function decimalOf(text: string | null) {
  return text === null ? null : parseDecimal(text)
}

/** Null if one of them is no number. */
function decimalsOf(texts: readonly string[]) {
  const decimals = texts.flatMap((text) => parseDecimal(text) ?? [])
  return decimals.length === texts.length ? decimals : null
}
