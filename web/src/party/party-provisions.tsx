import type { LiquidityProviderEpoch, ProviderStanding } from 'lyra-client'
import { parseDecimal, subtract, writeDecimal } from '../figures/decimal.ts'
import { formatPart, formatPercent } from '../figures/format-figure.ts'
import { Link } from '../parts/link.tsx'
import { useNarrow } from '../parts/narrow.ts'
import { Request } from '../parts/request.tsx'
import { MissingRows } from '../parts/states/missing-rows.tsx'
import { Answer } from '../parts/states/states.tsx'
import { MarketName } from '../parts/values/market-name.tsx'
import { EpochsTable } from '../providers/epochs-table.tsx'
import type { ProviderRow } from '../providers/fees.ts'
import { leastTime } from '../providers/provider-figure.tsx'
import { areProvisionsKnown, describeOthers } from '../providers/provisions.ts'
import { describeStanding, penaltyIfStayed } from '../providers/standing.ts'
import { useProviders } from '../providers/use-providers.ts'
import { instrumentOf } from '../service/instruments.ts'
import { lyra } from '../service/lyra.ts'
import type { OpenRange } from '../service/missing.ts'
import { useChanges } from '../service/use-changes.ts'
import { type Query, together, useQuery } from '../service/use-query.ts'
import { useStanding } from '../service/use-standing.ts'
import { describeCosts } from './epoch-costs.ts'

/** Epochs that are read of all markets together, and shown of each; on a phone each is a card of nine figures. */
const MOST_EPOCHS = 1_000
const SHOWN_EPOCHS = 10
const SHOWN_ON_PHONE = 3

/** How a party does as a liquidity provider: now, and in its last epochs, market by market. */
export function Provisions({ partyId }: { partyId: string }) {
  const filters = { partyId }
  const list = useProviders(null)
  const { version } = useChanges(`epochs of ${partyId}`, (client, options) =>
    client.streamLiquidityProviderHistory(filters, options),
  )
  const epochs = useQuery(
    partyId,
    async (signal) =>
      (await lyra.liquidityProviderHistoryPage(filters, { first: MOST_EPOCHS, signal })).rows.map(
        ({ node }) => node,
      ),
    { version },
  )
  const standing = useStanding(filters)
  // Without the list nobody could say that it provides nothing now, nor without its epochs that it never did.
  const query: Query<Figures> = {
    ...together(list, epochs),
    data:
      list.data === null || epochs.data === null
        ? null
        : {
            now: list.data.providers.filter((provider) => provider.partyId === partyId),
            epochs: epochs.data,
          },
  }
  return (
    <section class="panel" aria-labelledby="provisions-title">
      <div class="panel-head">
        <h2 id="provisions-title">As a liquidity provider</h2>
      </div>
      <Answer query={query} what="provisions">
        {(figures) => (
          <ProvisionFigures
            partyId={partyId}
            {...figures}
            standings={standing.data?.liquidityStanding ?? []}
          />
        )}
      </Answer>
    </section>
  )
}

type Figures = {
  /** Its provisions now. */
  now: readonly ProviderRow[]
  /** Newest first. */
  epochs: readonly LiquidityProviderEpoch[]
}

function ProvisionFigures({
  partyId,
  now,
  epochs,
  standings,
}: Figures & { partyId: string; standings: readonly ProviderStanding[] }) {
  const filters = { partyId }
  const byMarket = Map.groupBy(epochs, ({ marketId }) => marketId)
  const markets = [...new Set([...now.map(({ marketId }) => marketId), ...byMarket.keys()])].sort()
  return (
    <>
      <MissingRows resource="liquidityProviderHistory" range={epochsRange(epochs)} />
      <MissingRows
        resource="paidLiquidityFees"
        range={epochsRange(epochs)}
        besides="liquidityProviderHistory"
      />
      {markets.length === 0 && (
        <p class="quiet">
          {areProvisionsKnown()
            ? 'It provides no liquidity, and did not in any epoch that is stored.'
            : 'Whether it provides liquidity is not known: blocks are missing. No provision or epoch of it is stored.'}
        </p>
      )}
      {describeCosts(wholeEpochs(epochs)).map(({ what, most }) => (
        <p key={what} data-figure="costs">
          <strong>{what}</strong> {most}
        </p>
      ))}
      {markets.map((marketId) => (
        <Provision
          key={marketId}
          marketId={marketId}
          partyId={partyId}
          now={now.find((provider) => provider.marketId === marketId) ?? null}
          standing={standings.find((standing) => standing.marketId === marketId) ?? null}
          epochs={byMarket.get(marketId) ?? []}
        />
      ))}
      {markets.length > 0 && (
        <Request
          url={lyra.url('liquidityProviderHistory', filters, { first: MOST_EPOCHS })}
          csv={lyra.url('liquidityProviderHistory', filters, { format: 'csv' })}
        />
      )}
    </>
  )
}

/** The time of the epochs that were read: of all there are, unless there are more. */
function epochsRange(rows: readonly LiquidityProviderEpoch[]): OpenRange {
  return { from: rows.length < MOST_EPOCHS ? null : BigInt(rows.at(-1)!.timestamp), to: null }
}

/** Without the oldest epoch, if the page that was read may have cut it. */
function wholeEpochs(rows: readonly LiquidityProviderEpoch[]): readonly LiquidityProviderEpoch[] {
  return rows.length < MOST_EPOCHS ? rows : rows.filter(({ epoch }) => epoch !== rows.at(-1)!.epoch)
}

type ProvisionProps = {
  marketId: string
  partyId: string
  /** Null if it has left the market. */
  now: ProviderRow | null
  /** Null if it is not known. */
  standing: ProviderStanding | null
  /** Newest first. */
  epochs: readonly LiquidityProviderEpoch[]
}

export function Provision({ marketId, partyId, now, standing, epochs }: ProvisionProps) {
  const least = leastTime(marketId)
  const count = useNarrow() ? SHOWN_ON_PHONE : SHOWN_EPOCHS
  return (
    <div class="provision" data-market={marketId}>
      <h3>
        <MarketName marketId={marketId} link={{ view: 'providers', params: { market: marketId } }} />
      </h3>
      <p>{now === null ? describeNone() : describeNow(now, least, standing)}</p>
      {epochs.length > 0 && (
        <EpochsTable marketId={marketId} rows={epochs} now={now} first={0} count={count} />
      )}
      {epochs.length > count && (
        <Link view="providers" params={{ market: marketId, party: partyId }}>
          More epochs
        </Link>
      )}
    </div>
  )
}

function describeNone(): string {
  return areProvisionsKnown()
    ? 'It has no provision on this market now.'
    : 'No provision of it on this market is stored, and blocks are missing.'
}

/**
 * The fee share, and how the provider stands in this epoch. If what it still needs is not known, its time on book so far against
 * the least: `Time on book 97 %: 2 percentage points above the minimum of 95 %`.
 */
export function describeNow(
  { fees, sla }: ProviderRow,
  least: string | null,
  standing: ProviderStanding | null,
): string {
  const bound =
    fees.others === null ? ['', ''] : ['at most ', `: ${describeOthers()} ${formatPart(fees.others)}`]
  const share =
    fees.share === null ? 'Fee share not known.' : `Fee share ${bound.join(formatPart(fees.share))}.`
  if (sla === null) return `${share} The market data have no SLA figures for it.`
  const terms = standing === null ? null : (instrumentOf(standing.marketId)?.sla ?? null)
  const now = standing === null ? null : describeStanding(standing, penaltyIfStayed(standing, sla, terms))
  if (now !== null) return `${share} ${now}`
  const time = sla.currentEpochFractionOfTimeOnBook
  if (time === '') return `${share} Time on book this epoch not known.`
  const [own, minimum] = [parseDecimal(time), parseDecimal(least ?? '')]
  const shown = `Time on book this epoch ${formatPart(time)}`
  if (own === null || minimum === null) return `${share} ${shown}.`
  const apart = subtract(own, minimum)
  const distance = writeDecimal({ ...apart, digits: apart.digits < 0n ? -apart.digits : apart.digits })
  const side = apart.digits < 0n ? 'below' : 'above'
  return `${share} ${shown}: ${formatPart(distance).replace(' %', ' percentage points')} ${side} the minimum of ${formatPercent(least!)}.`
}
