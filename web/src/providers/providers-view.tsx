import type { LiquidityProviderFilters } from 'lyra-client'
import { groupDigits } from '../figures/format-figure.ts'
import { shortId } from '../figures/short-id.ts'
import { param, setParams } from '../location.ts'
import { Id } from '../parts/id.tsx'
import { Link } from '../parts/link.tsx'
import { MarketBar } from '../parts/market-bar.tsx'
import { Request } from '../parts/request.tsx'
import { beforeCoverage, Empty, Failure, Skeleton } from '../parts/states.tsx'
import { marketUnit } from '../service/instruments.ts'
import { lyra } from '../service/lyra.ts'
import { knownMarkets, MARKET_ID } from '../service/markets.ts'
import { isBelow, isPenalised } from './columns.ts'
import { readFilter } from './filters.tsx'
import { Meanings } from './meanings.tsx'
import { PARTY_ID, PartyField } from './party-field.tsx'
import { ProvidersTable } from './providers-table.tsx'
import { sumsOf, Totals } from './totals.tsx'
import { EXPORT_PATH, MAX_PROVIDERS, useProviders } from './use-providers.ts'

/** The liquidity providers of all markets or of one, or a party's provisions on all markets. */
export function ProvidersView() {
  const party = param('party')?.toLowerCase() ?? null
  const market = param('market')?.toLowerCase() ?? null
  const fault = faultOf(market, party)
  const before = beforeCoverage('providers')
  if (before !== null) return before
  return (
    <>
      <MarketBar
        marketId={market}
        markets={knownMarkets('providers')}
        none="All markets"
        onPick={(id) => setParams({ market: id })}
        beside={
          <PartyField
            key={party ?? ''}
            party={party}
            onPick={(id) => setParams({ party: id, market: null })}
          />
        }
      >
        {market !== null && (
          <Link view="funding" params={{ market }} class="quiet-link">
            Funding
          </Link>
        )}
      </MarketBar>
      {fault !== null ? (
        <Empty title="The id in the address is not valid">{fault}</Empty>
      ) : (
        <Providers market={market} party={party} />
      )}
      <Meanings />
    </>
  )
}

function faultOf(market: string | null, party: string | null): preact.ComponentChildren {
  if (market !== null && !MARKET_ID.test(market)) {
    return (
      <>
        <code>{market}</code> is not a market's id: it has 64 hex digits.
      </>
    )
  }
  if (party !== null && !PARTY_ID.test(party)) {
    return (
      <>
        <code>{party}</code> is not a party's id: it has 64 hex digits, or is "network".
      </>
    )
  }
  return null
}

function Providers({ market, party }: { market: string | null; party: string | null }) {
  const filters: LiquidityProviderFilters = {
    ...(market !== null && { marketId: market }),
    ...(party !== null && { partyId: party }),
  }
  const { data, error, reload } = useProviders(filters)
  const { penalised, below } = readFilter()
  const listed = (data?.providers ?? []).filter(
    (provider) => (!penalised || isPenalised(provider)) && (below === null || isBelow(provider, below)),
  )
  const sums = sumsOf(listed)
  const first = listed[0]
  const isAll = market === null && party === null
  return (
    <section class="panel" aria-label="Providers">
      {party !== null && (
        <div class="panel-head">
          <h2>
            Party <Id id={party} what="the party id" />
          </h2>
          <Link view="providers" params={{ market }}>
            All parties
          </Link>
        </div>
      )}
      {data !== null && data.providers.length > 0 && <Totals providers={listed} />}
      {error !== null && <Failure error={error} onRetry={reload} />}
      {data === null && error === null && <Skeleton what="providers" />}
      {data !== null && data.providers.length === 0 && error === null && (
        <Empty title={emptyTitle(market, party)}>
          As of block {groupDigits(data.blockHeight)}. Only live provisions are listed.
        </Empty>
      )}
      {data !== null && data.providers.length > 0 && listed.length === 0 && (
        <Empty title="No provider matches the filters">
          {groupDigits(`${data.providers.length}`)} are held here.{' '}
          <button type="button" class="button" onClick={() => setParams({ penalised: null, below: null })}>
            Clear the filters
          </button>
        </Empty>
      )}
      {listed.length > 0 && (
        <ProvidersTable
          providers={listed}
          names={{ party: party === null, market: market === null }}
          unit={sums.length === 1 && first !== undefined ? marketUnit(first.marketId) : null}
        />
      )}
      {data?.more && (
        <p class="notice">Only the first {groupDigits(`${MAX_PROVIDERS}`)} are shown and sorted.</p>
      )}
      <Request
        url={
          isAll
            ? `${location.origin}${EXPORT_PATH}?format=ndjson`
            : lyra.url('liquidityProviders', filters, { first: MAX_PROVIDERS })
        }
        csv={
          isAll
            ? `${location.origin}${EXPORT_PATH}?format=csv`
            : lyra.url('liquidityProviders', filters, { format: 'csv' })
        }
      />
    </section>
  )
}

function emptyTitle(market: string | null, party: string | null): string {
  if (party !== null) return `${shortId(party)} provides no liquidity`
  return market === null ? 'No liquidity providers yet' : 'No providers on this market'
}
