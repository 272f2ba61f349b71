import type { LiquidityProviderFilters } from 'lyra-client'
import { groupDigits } from '../figures/format-figure.ts'
import { param, setParams } from '../location.ts'
import { Id } from '../parts/id.tsx'
import { knownMarkets, MarketPicker } from '../parts/market-picker.tsx'
import { Request } from '../parts/request.tsx'
import { Empty, Failure, Loading } from '../parts/states.tsx'
import { latestCoverage } from '../service/coverage.ts'
import { lyra } from '../service/lyra.ts'
import { Meanings } from './meanings.tsx'
import { PartyField } from './party-field.tsx'
import { ProvidersTable } from './providers-table.tsx'
import { MAX_PROVIDERS, useProviders } from './use-providers.ts'

/** The liquidity providers of a market, or a party's provisions on all markets. */
export function ProvidersView() {
  const party = param('party')
  const market = param('market') ?? (party === null ? firstMarket() : null)
  const filters: LiquidityProviderFilters | null =
    party === null && market === null
      ? null
      : { ...(market !== null && { marketId: market }), ...(party !== null && { partyId: party }) }
  const { data, error, reload } = useProviders(filters)
  return (
    <>
      <div class="view-bar">
        <MarketPicker
          marketId={market}
          markets={knownMarkets()}
          onPick={(id) => setParams({ market: id || null, party: null })}
        />
        <PartyField key={party ?? ''} party={party} onPick={(id) => setParams({ party: id, market: null })} />
        {market !== null && (
          <Id id={market} what="the market id" link={{ view: 'funding', params: { market } }} />
        )}
        {party !== null && <Id id={party} what="the party id" />}
      </div>
      {filters === null && latestCoverage() !== null && (
        <Empty title="No liquidity providers yet">
          No block so far had one in it. A party can be asked for by its id all the same.
        </Empty>
      )}
      {filters !== null && (
        <section class="panel" aria-label="Providers">
          <Request url={lyra.url('liquidityProviders', filters, { first: MAX_PROVIDERS })} />
          {error !== null && <Failure error={error} onRetry={reload} />}
          {data === null && error === null && <Loading what="providers" />}
          {data !== null && data.providers.length === 0 && error === null && (
            <Empty
              title={party === null ? 'No providers on this market' : 'This party provides no liquidity'}
            >
              As of block {groupDigits(data.blockHeight)}. Only live provisions are listed.
            </Empty>
          )}
          {data !== null && data.providers.length > 0 && (
            <ProvidersTable providers={data.providers} by={party === null ? 'party' : 'market'} />
          )}
          {data?.more && <p class="density sampled">Only the first {MAX_PROVIDERS} are shown and sorted.</p>}
        </section>
      )}
      <Meanings />
    </>
  )
}

function firstMarket(): string | null {
  return latestCoverage()?.liquidityProviders[0]?.marketId ?? null
}
