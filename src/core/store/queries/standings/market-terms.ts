import { TRADING_MODES } from '../../../events/market-enums.ts'
import type { Row } from '../../../model/resource.ts'
import type { Query } from '../../queries-protocol.ts'
import type { RunningEpoch } from './running-epoch.ts'

/** What a market's terms say, and the data from which its list of providers is; null if it is not known. */
export type MarketTerms = {
  /** The time of the data. */
  at: bigint | null
  isInOpeningAuction: boolean
  /** The end of its opening auction, if that was in the running epoch. */
  opened: bigint | null
  minimum: string | null
  competitionFactor: string | null
}

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

/**
 * Reads what the latest data and terms of markets say, by market id.
 *
 * @param epoch the running one, for the ends of opening auctions
 */
export function* readMarketTerms(
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

/** A number of an event; null for an empty text, which is not known. */
export function numberOrNull(text: Row[number] | undefined): string | null {
  return text == null || text === '' ? null : String(text)
}
