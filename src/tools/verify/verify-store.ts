import { withOpen } from '#core/concurrency/with-open'
import { type EventPosition, isBefore } from '#core/domain/event-position'
import type { FundingParameters } from '#core/events/event'
import type { TwapMethod } from '#core/funding/market-verifier'
import { tableOf } from '#core/store/schema/tables'
import { refuseOldSchema } from '#core/store/schema-version'
import type { StoreAdmin } from '#core/store/store'
import type { TableReader } from '#core/store/table-reader'
import { namedRow, positionOfRow, walkTable } from '#core/store/walk-table'
import type { VerifyFilter } from './judgements.ts'
import { type GivenParameters, type ParameterSource, withGiven } from './parameters.ts'
import { verifyStoredMarket } from './stored/stored-market.ts'
import { verifyStoredPayments } from './stored/stored-payments.ts'
import { readStream } from './stored/stored-stream.ts'
import { severalMarkets, Tally, type VerifyProgress, type VerifyReport } from './tally.ts'

type VerifyStoreOptions = {
  method: TwapMethod
  filter: VerifyFilter
  /** Funding parameters that replace the stored ones. */
  parameters?: GivenParameters
  signal: AbortSignal
  onProgress?: VerifyProgress
}

/**
 * Recalculates the TWAPs of a store in one snapshot, market by market and period by period. If data may be missing, an
 * unexpected TWAP is unknown: after a gap, after pruned points, and if it depends on market data, which are not stored.
 *
 * @throws {StoreError} if there is no store, or its schema is not this program's.
 */
export async function verifyStore(store: StoreAdmin, options: VerifyStoreOptions): Promise<VerifyReport> {
  await refuseOldSchema(store)
  const { method, filter, signal, onProgress, parameters = {} } = options
  const tally = new Tally(filter)
  await withOpen(store.openTableReader(), async (reader) => {
    const stream = await readStream(reader)
    if (stream === null) return
    const parametersOf = withGiven(await storedParameters(reader), parameters)
    for (const [marketId, number] of await storedMarkets(reader, filter)) {
      tally.markets++
      const market = { reader, stream, marketId, number, method, tally, parametersOf, signal }
      await verifyStoredMarket(market, filter.seq)
      await verifyStoredPayments(market, filter.seq)
      onProgress?.(tally.report())
    }
  })
  return tally.report()
}

/** The parameters in the latest event of each perpetual market; earlier events are not stored. */
async function storedParameters(reader: TableReader): Promise<ParameterSource> {
  const table = tableOf('instruments')
  const markets = new Map<string, { parameters: FundingParameters; from: EventPosition }>()
  for await (const chunk of walkTable(reader, table)) {
    for (const row of chunk) {
      const named = namedRow(table, row)
      const { market_id, interest_rate } = named
      if (interest_rate == null) continue
      markets.set(market_id!, {
        parameters: {
          interestRate: interest_rate,
          clampLowerBound: named.clamp_lower_bound ?? '',
          clampUpperBound: named.clamp_upper_bound ?? '',
          scalingFactor: named.scaling_factor ?? null,
          lowerBound: named.rate_lower_bound ?? null,
          upperBound: named.rate_upper_bound ?? null,
        },
        from: positionOfRow(named),
      })
    }
  }
  return (marketId, position) => {
    const market = markets.get(marketId)
    if (market === undefined) return null
    return { parameters: market.parameters, mayHaveChanged: isBefore(position, market.from) }
  }
}

/**
 * The ids of markets with periods or points, and their numbers in the store; null for a market that has never had a point.
 */
async function storedMarkets(
  reader: TableReader,
  { marketId }: VerifyFilter,
): Promise<Map<string, string | null>> {
  const markets = new Map<string, string | null>()
  const add = (id: string, number: string | null) => {
    if (id.startsWith(marketId ?? '')) markets.set(id, number)
  }
  for await (const chunk of walkTable(reader, tableOf('funding_periods'))) {
    for (const [id] of chunk) add(id!, null)
  }
  for await (const chunk of walkTable(reader, tableOf('markets'))) {
    for (const [number, id] of chunk) add(id!, number!)
  }
  if (marketId !== null && markets.size > 1) throw severalMarkets(marketId, markets.size)
  return markets
}
