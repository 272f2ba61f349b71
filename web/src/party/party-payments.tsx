import { DAY } from '../../../src/core/domain/time.ts'
import { PAYMENT_STYLE } from '../figures/amount.ts'
import { writeDecimal } from '../figures/decimal.ts'
import { useNarrow } from '../parts/narrow.ts'
import { Request } from '../parts/request.tsx'
import { Answer, Empty } from '../parts/states/states.tsx'
import { Pages, pageOf } from '../parts/tables/pages.tsx'
import { Amount } from '../parts/values/amount.tsx'
import { Id } from '../parts/values/id.tsx'
import {
  type MarketSums,
  type PartyPayments,
  sumsByDay,
  sumsByMarket,
  totalOf,
  withDays,
} from '../payments/payments.ts'
import { subjectOf } from '../range/view-range.ts'
import type { Range } from '../series/series.ts'
import { instrumentOf, marketUnit } from '../service/instruments.ts'
import { lyra } from '../service/lyra.ts'
import { isWhole, missingOf, missingSteps } from '../service/missing.ts'
import { useChanges } from '../service/use-changes.ts'
import { useQuery } from '../service/use-query.ts'
import { AssetChart } from './asset-chart.tsx'
import { lastTime, PaymentRange, rangeOfPayments, shownRange } from './payment-range.tsx'
import { PaymentsByDay } from './payments-by-day.tsx'
import { PaymentsByMarket } from './payments-by-market.tsx'
import { EachPayment } from './single-payments.tsx'
import { StatementDownload } from './statement-download.tsx'

/** Of more payments the chart has a step for each day. */
const MOST_DRAWN = 5_000

/** Days of a page of the table; on a phone each is a card. */
const DAYS = 14
const DAYS_OF_PHONE = 7

/** A party's payments in a range: totals, a chart and a table by day. */
export function Payments({ partyId }: { partyId: string }) {
  const stored = rangeOfPayments()
  const { version } = useChanges(partyId, (client, options) =>
    client.streamFundingPayments({ partyId }, options),
  )
  const range = stored === null ? null : shownRange(stored)
  const filters = { partyId, ...(range === null ? {} : { from: range.from, to: range.to }) }
  const query = useQuery(
    range === null ? null : `${partyId} ${subjectOf(range)}`,
    (signal) => askPayments(filters, signal),
    { version: `${range?.from} ${range?.to} ${version}` },
  )
  const { data, error } = query
  return (
    <section
      class={stored !== null && data === null && error === null ? 'panel filling' : 'panel'}
      aria-labelledby="payments-title"
    >
      <div class="panel-head">
        <h2 id="payments-title">
          Funding payments of party <Id id={partyId} what="the party id" />
        </h2>
      </div>
      {stored === null || range === null ? (
        <Empty title="No funding payments yet">The store has no funding payments of any party.</Empty>
      ) : (
        <>
          <PaymentRange stored={stored} range={range} />
          <StatementDownload partyId={partyId} range={range} stored={stored} last={lastTime()} />
          <Answer query={query} what="funding payments" tall>
            {(payments) =>
              payments.markets.length === 0 ? (
                <Empty title="No funding payments of this party in this range">
                  {isWhole(missingOf('fundingPayments', range))
                    ? "No period ended in which it had a position, or the id is another one's."
                    : 'Whether it had any is not known: blocks are missing.'}
                </Empty>
              ) : (
                <PaymentFigures payments={payments} range={range} />
              )
            }
          </Answer>
          {data !== null && data.markets.length > 0 && (
            <EachPayment partyId={partyId} range={range} version={version} />
          )}
          {data !== null && (
            <Request
              url={lyra.url('fundingPayments', filters, { first: MOST_DRAWN })}
              csv={lyra.url('fundingPayments', filters, { format: 'csv' })}
            />
          )}
        </>
      )}
    </section>
  )
}

async function askPayments(
  filters: { partyId: string; from?: bigint; to?: bigint },
  signal: AbortSignal,
): Promise<PartyPayments> {
  const { partyId, ...range } = filters
  const { partyFunding } = await lyra.partyFunding(partyId, { ...range, interval: '1d', signal })
  const { markets } = partyFunding
  const count = markets.reduce((sum, market) => sum + market.count, 0)
  if (count > MOST_DRAWN) return { markets, list: null }
  const { rows } = await lyra.fundingPaymentsPage(filters, { first: MOST_DRAWN, signal })
  return { markets, list: rows.map(({ node }) => node) }
}

/** The settlement asset of a market, by its id; the market's own if that is not known: amounts are not added then. */
const assetOf = (marketId: string) => instrumentOf(marketId)?.settlementAsset?.id ?? marketId

/** The figures of a party's payments in a range: totals, charts and tables by market and by day. */
export function PaymentFigures({
  payments: { markets, list },
  range,
}: {
  payments: PartyPayments
  range: Range
}) {
  const byAsset = [...Map.groupBy(sumsByMarket(markets), ({ marketId }) => assetOf(marketId))]
  const groups = byAsset.map(([, sums]) => sums)
  const missing = missingSteps(missingOf('fundingPayments', range), range, DAY)
  const days = withDays(sumsByDay(markets), missing)
  const rows = useNarrow() ? DAYS_OF_PHONE : DAYS
  const shown = pageOf('day', days.length, rows)
  return (
    <>
      <div class="asset-totals">
        {byAsset.map(([asset, own]) => (
          <AssetTotal key={asset} sums={own} />
        ))}
      </div>
      <PaymentsByMarket groups={groups} />
      {byAsset.map(([asset, own]) => (
        <AssetChart
          key={asset}
          payments={{ markets, list }}
          shown={own.map(({ marketId }) => marketId)}
          to={range.to}
        />
      ))}
      <PaymentsByDay
        days={days.slice(shown.first, shown.first + rows)}
        missing={missing}
        groups={groups.map((sums) => sums.map(({ marketId }) => marketId))}
      />
      <Pages {...shown} what="days" />
    </>
  )
}

/** The total of markets with one settlement asset. */
function AssetTotal({ sums }: { sums: readonly MarketSums[] }) {
  const unit = marketUnit(sums[0]!.marketId)
  const { total } = totalOf(sums)
  return (
    <dl class="facts totals" aria-label={`Total${unit === null ? '' : ` in ${unit.symbol}`}`}>
      <div>
        <dt>Total of this range</dt>
        <dd>
          <Amount {...PAYMENT_STYLE} text={writeDecimal(total)} unit={unit} name="payments-total" />
        </dd>
      </div>
    </dl>
  )
}
