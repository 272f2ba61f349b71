import type { FundingPayment, MarketFunding } from 'lyra-client'
import { useMemo } from 'preact/hooks'
import { DAY } from '../../../src/core/domain/time.ts'
import { useGapShades } from '../charts/gap-times.ts'
import { inUnit, placesOf } from '../figures/amount.ts'
import { add, writeDecimal } from '../figures/decimal.ts'
import { groupDigits } from '../figures/format-figure.ts'
import { formatDay } from '../figures/format-time.ts'
import { Amount } from '../parts/amount.tsx'
import { Id } from '../parts/id.tsx'
import { MarketName } from '../parts/market-name.tsx'
import { useNarrow } from '../parts/narrow.ts'
import { Pages, pageOf } from '../parts/pages.tsx'
import { Request } from '../parts/request.tsx'
import { Answer, Empty } from '../parts/states.tsx'
import { TableHead } from '../parts/table-head.tsx'
import { TablePlace } from '../parts/table-place.tsx'
import {
  changesByDay,
  changesOf,
  cumulative,
  type DaySums,
  type MarketSums,
  runningSum,
  sumsByDay,
  sumsByMarket,
  totalOf,
  withDays,
} from '../payments/payments.ts'
import { subjectOf } from '../range/view-range.ts'
import type { Range } from '../series/series.ts'
import { latestCoverage } from '../service/coverage.ts'
import { instrumentOf, marketLabel, marketUnit } from '../service/instruments.ts'
import { lyra } from '../service/lyra.ts'
import { isWhole, missingOf, missingSteps } from '../service/missing.ts'
import { useChanges } from '../service/use-changes.ts'
import { useQuery } from '../service/use-query.ts'
import { CumulativeChart } from './cumulative-chart.tsx'
import { lastTime, PaymentRange, rangeOfPayments, shownRange } from './payment-range.tsx'
import { EachPayment } from './single-payments.tsx'
import { StatementDownload } from './statement-download.tsx'

/** Of more payments the chart has a step for each day. */
const MOST_DRAWN = 5_000

/** Days of a page of the table; on a phone each is a card. */
const DAYS = 14
const DAYS_OF_PHONE = 7

/** Lines of a chart: more cannot be told apart. */
const MOST_LINES = 6

type PartyPayments = {
  /** The sums by market and day. */
  markets: readonly MarketFunding[]
  /** The payments; null if they are too many to draw. */
  list: readonly FundingPayment[] | null
}

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
            <EachPayment partyId={partyId} range={range} version={`${version}`} />
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
      <MarketsTable groups={groups} />
      {byAsset.map(([asset, own]) => (
        <AssetChart
          key={asset}
          payments={{ markets, list }}
          shown={own.map(({ marketId }) => marketId)}
          to={range.to}
        />
      ))}
      <DaysTable
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
          <Amount {...STYLE} text={writeDecimal(total)} unit={unit} name="payments-total" />
        </dd>
      </div>
    </dl>
  )
}

/** Payments are shown with two places, signed: below zero if the party paid. */
const STYLE = { places: 2, signed: true }

/** The sums by market, those of an asset together, with their total if they are several. */
function MarketsTable({ groups }: { groups: readonly (readonly MarketSums[])[] }) {
  const sums = groups.flat()
  const totals = groups.filter(({ length }) => length > 1).map(totalOf)
  const isMissed = sums.some(({ missed }) => missed.digits !== 0n)
  const figuresOf = ({ total, received, paid, missed }: MarketSums) =>
    [total, received, paid, ...(isMissed ? [missed] : [])].map(writeDecimal)
  const least = Math.max(
    ...[...sums, ...totals].map((row) => placesOf(figuresOf(row), marketUnit(row.marketId), STYLE)),
  )
  const titles = [
    'Total',
    'Received',
    'Paid',
    ...(isMissed ? ['Missed: others could not pay'] : []),
    'Payments',
  ]
  const cells = (row: MarketSums) => (
    <>
      {figuresOf(row).map((text, index) => (
        <td key={titles[index]} data-label={titles[index]} class="figure-column">
          <Amount {...STYLE} text={text} unit={marketUnit(row.marketId)} least={least} />
        </td>
      ))}
      <td data-label="Payments" class="figure-column">
        {groupDigits(`${row.count}`)}
      </td>
    </>
  )
  return (
    <TablePlace name="Table of payments by market">
      <table class="stacked">
        <TableHead titles={['Market', ...titles]} texts={['Market']} />
        <tbody>
          {sums.map((row) => (
            <tr key={row.marketId} data-market={row.marketId}>
              <th scope="row">
                <MarketName
                  marketId={row.marketId}
                  link={{ view: 'funding', params: { market: row.marketId } }}
                />
              </th>
              {cells(row)}
            </tr>
          ))}
        </tbody>
        {totals.length > 0 && (
          <tfoot>
            {totals.map((row) => (
              <tr key={row.marketId}>
                <th scope="row">Total{inUnit(marketUnit(row.marketId))}</th>
                {cells(row)}
              </tr>
            ))}
          </tfoot>
        )}
      </table>
    </TablePlace>
  )
}

/** The changes over time on some markets of one asset. */
function AssetChart({
  payments: { markets, list },
  shown,
  to,
}: {
  payments: PartyPayments
  shown: readonly string[]
  /** The end of the range. */
  to: bigint
}) {
  // The chart is drawn anew for other lines only.
  const { own, lines, total } = useMemo(() => {
    const all = list === null ? changesByDay(markets, { to }) : changesOf(list)
    const changes = all.filter(({ marketId }) => shown.includes(marketId))
    const own = cumulative(changes)
    return { own, lines: own.slice(0, MOST_LINES), total: own.length > 1 ? runningSum(changes) : null }
  }, [markets, list, shown.join(), to])
  const unit = marketUnit(shown[0]!)
  const gaps = useGapShades(latestCoverage()?.blocks.gaps ?? [])
  return (
    <>
      <h3 class="chart-title">
        Cumulative{list === null && ', by day'}
        {inUnit(unit)}
      </h3>
      <CumulativeChart lines={lines} total={total} unit={unit} shades={gaps} />
      {own.length > MOST_LINES && (
        <p class="quiet">
          Not drawn, as the smaller ones:{' '}
          {own
            .slice(MOST_LINES)
            .map(({ marketId }) => marketLabel(marketId))
            .join(', ')}
          .
        </p>
      )}
    </>
  )
}

type DaysTableProps = {
  days: readonly DaySums[]
  /** The starts of days of which blocks are missing. */
  missing: ReadonlySet<bigint>
  groups: readonly (readonly string[])[]
}

/** The sums by day: the total of each asset with several markets, then each market. */
function DaysTable({ days, missing, groups }: DaysTableProps) {
  const columnOf = (name: string, markets: readonly string[]) => {
    const unit = marketUnit(markets[0]!)
    const texts = days.map(({ byMarket }) => {
      const sums = markets.flatMap((marketId) => byMarket.get(marketId) ?? [])
      return sums.length === 0 ? null : writeDecimal(sums.reduce(add))
    })
    const title = name + inUnit(unit)
    return { key: `${name} ${markets[0]}`, title, unit, texts, least: placesOf(texts, unit, STYLE) }
  }
  const columns = [
    ...groups.filter(({ length }) => length > 1).map((markets) => columnOf('Total', markets)),
    ...groups.flat().map((marketId) => columnOf(marketLabel(marketId), [marketId])),
  ]
  return (
    <TablePlace name="Table of payments by day">
      <table class="days stacked">
        <TableHead titles={['Day (UTC)', ...columns.map(({ title }) => title)]} texts={['Day (UTC)']} />
        <tbody>
          {days.map(({ start }, day) => (
            <tr key={`${start}`}>
              <th scope="row">
                {formatDay(start)}
                {missing.has(start) && (
                  <>
                    {' '}
                    <span class="tag">blocks missing</span>
                  </>
                )}
              </th>
              {columns.map(({ key, title, texts, ...column }) => (
                <td key={key} data-label={title} class="figure-column">
                  {texts[day] == null ? (
                    missing.has(start) ? (
                      'unknown'
                    ) : (
                      '–'
                    )
                  ) : (
                    <Amount {...STYLE} {...column} text={texts[day]} bare />
                  )}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </TablePlace>
  )
}
