import type { LiquidityProviderFilters } from 'lyra-client'
import { exportTarget } from '../../../client/src/requests.ts'
import { PARTY_ID } from '../../../src/core/domain/ids.ts'
import { groupDigits } from '../figures/format-figure.ts'
import { shortId } from '../figures/short-id.ts'
import { param, setParams } from '../location.ts'
import { Link } from '../parts/link.tsx'
import { MarketBar, useSummary } from '../parts/pickers/market-bar.tsx'
import { Request } from '../parts/request.tsx'
import { beforeCoverage } from '../parts/states/before-coverage.tsx'
import { MissingRows } from '../parts/states/missing-rows.tsx'
import { Answer, Empty } from '../parts/states/states.tsx'
import { Id } from '../parts/values/id.tsx'
import { marketUnit } from '../service/instruments.ts'
import { lyra } from '../service/lyra.ts'
import { knownMarkets, MARKET_ID } from '../service/markets.ts'
import type { Query } from '../service/use-query.ts'
import { hasShareBelow, isPenalised } from './columns.ts'
import { readFilter } from './filters.tsx'
import { History } from './history.tsx'
import { Meanings } from './meanings.tsx'
import { PARTY_START, PartyField } from './party-field.tsx'
import { ProvidersTable } from './providers-table.tsx'
import { ANY_TIME, areProvisionsKnown } from './provisions.ts'
import { providersTarget } from './requests.ts'
import { sumsOf, Totals } from './totals.tsx'
import { type ProviderList, useProviders } from './use-providers.ts'

/** The liquidity providers of all markets or of one, or the provisions of the parties whose id begins as named. */
export function ProvidersView() {
  const party = param('party')?.toLowerCase() ?? null
  const market = param('market')?.toLowerCase() ?? null
  const fault = faultOf(market, party)
  const list = useProviders(fault === null ? market : null)
  const markets = knownMarkets('providers')
  const summary = useSummary(market, markets)
  const parties = [...new Set(list.data?.providers.map(({ partyId }) => partyId))].sort()
  const bar = (
    <MarketBar
      marketId={market}
      summary={summary}
      markets={markets}
      none="All markets"
      onPick={(id) => setParams({ market: id, page: null })}
      beside={
        <PartyField
          key={party ?? ''}
          party={party}
          parties={parties}
          onPick={(id) => setParams({ party: id, market: null, page: null })}
        />
      }
    >
      {market !== null && (
        <Link view="funding" params={{ market }} class="quiet-link">
          Funding
        </Link>
      )}
    </MarketBar>
  )
  const before = beforeCoverage('providers', bar)
  if (before !== null) return before
  const content = (
    <>
      {fault !== null ? (
        <Empty title="The id in the page's address is invalid">{fault}</Empty>
      ) : (
        <Providers market={market} party={party} list={list} />
      )}
      {(fault !== null || list.data !== null) && <Meanings />}
    </>
  )
  return (
    <>
      {bar}
      {fault === null && market !== null && party !== null && PARTY_ID.test(party) ? (
        <History
          key={`${market} ${party}`}
          marketId={market}
          partyId={party}
          now={
            list.data?.providers.find(({ marketId, partyId }) => marketId === market && partyId === party) ??
            null
          }
        >
          {content}
        </History>
      ) : (
        content
      )}
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
  if (party !== null && !PARTY_START.test(party)) {
    return (
      <>
        <code>{party}</code> is not a party's id or its beginning: it has 64 hex digits, or is "network".
      </>
    )
  }
  return null
}

type ProvidersProps = { market: string | null; party: string | null; list: Query<ProviderList> }

/** Totals and table of a market's or a party's providers, as the filters choose them. */
export function Providers({ market, party, list }: ProvidersProps) {
  const { data } = list
  const { penalised, below } = readFilter()
  const ofParty = (data?.providers ?? []).filter(({ partyId }) => party === null || partyId.startsWith(party))
  const listed = ofParty.filter(
    (provider) => (!penalised || isPenalised(provider)) && (below === null || hasShareBelow(provider, below)),
  )
  const first = listed[0]
  const areOneAsset =
    first !== undefined &&
    sumsOf(listed).length === 1 &&
    listed.every(({ marketId }) => marketUnit(marketId) !== null)
  const isWhole = party !== null && PARTY_ID.test(party)
  // A request that gives these rows, and others if only the beginning of an id is known.
  const filters: LiquidityProviderFilters = {
    ...(market !== null && { marketId: market }),
    ...(isWhole && { partyId: party }),
  }
  const isAll = market === null && !isWhole
  return (
    <section class="panel" aria-label="Providers">
      {party !== null && (
        <div class="panel-head">
          <h2>
            {isWhole ? (
              <>
                Party <Id id={party} what="the party id" />
              </>
            ) : (
              <>
                Parties whose id begins with <code>{party}</code>
              </>
            )}
          </h2>
          {isWhole && (
            <Link view="party" params={{ party }}>
              Payments and epochs
            </Link>
          )}
          <Link view="providers" params={{ market }}>
            All parties
          </Link>
        </div>
      )}
      <MissingRows resource="liquidityProviders" range={ANY_TIME} />
      <Answer query={list} what="providers" tall>
        {({ blockHeight, more, providers }) => (
          <>
            {ofParty.length > 0 && <Totals providers={listed} />}
            {ofParty.length === 0 && !list.isOther && (
              <Empty title={emptyTitle(market, party)}>
                As of block {groupDigits(blockHeight)}. Only live provisions are listed.
              </Empty>
            )}
            {ofParty.length > 0 && listed.length === 0 && (
              <Empty title="No provider matches the filters">
                {groupDigits(`${ofParty.length}`)} in total.{' '}
                <button
                  type="button"
                  class="button"
                  onClick={() => setParams({ penalised: null, below: null })}
                >
                  Clear the filters
                </button>
              </Empty>
            )}
            {listed.length > 0 && (
              <ProvidersTable
                providers={listed}
                names={{ party: !isWhole, market: market === null }}
                unit={areOneAsset ? marketUnit(first.marketId) : null}
              />
            )}
            {more && (
              <p class="notice">
                There are more than {groupDigits(`${providers.length}`)} providers: the others are not shown,
                sorted or included in totals.
              </p>
            )}
          </>
        )}
      </Answer>
      {data !== null && (
        <Request
          url={
            isAll
              ? `${location.origin}${providersTarget(null)}`
              : lyra.url('liquidityProviders', filters, { first: 1_000 })
          }
          csv={
            isAll
              ? `${location.origin}${exportTarget('liquidityProviders', {}, { format: 'csv' })}`
              : lyra.url('liquidityProviders', filters, { format: 'csv' })
          }
        />
      )}
    </section>
  )
}

function emptyTitle(market: string | null, party: string | null): string {
  if (party !== null) {
    const where = market === null ? '' : ' on this market'
    if (!PARTY_ID.test(party)) return `No provider's id begins with ${shortId(party)}${where}`
    return areProvisionsKnown()
      ? `${shortId(party)} provides no liquidity${where}`
      : `No provision of ${shortId(party)}${where} is stored`
  }
  if (market !== null && !knownMarkets('all').includes(market))
    return 'The service has no data of this market'
  if (!areProvisionsKnown()) return 'No liquidity providers are stored'
  return market === null ? 'No liquidity providers yet' : 'No providers on this market'
}
