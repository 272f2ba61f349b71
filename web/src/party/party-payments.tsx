import type { FundingPayment } from 'lyra-client'
import { useMemo } from 'preact/hooks'
import { inUnit, placesOf } from '../figures/amount.ts'
import { add, writeDecimal } from '../figures/decimal.ts'
import { groupDigits } from '../figures/format-figure.ts'
import { formatDay, formatMinute } from '../figures/format-time.ts'
import { useGapShades } from '../funding/gap-times.ts'
import { RangeBar } from '../funding/range-bar.tsx'
import { DAY, SECOND, subjectOf, type ViewRange, viewRange } from '../funding/view-range.ts'
import { param, setParams } from '../location.ts'
import { Amount } from '../parts/amount.tsx'
import { Id } from '../parts/id.tsx'
import { MarketName } from '../parts/market-name.tsx'
import { MissingRows } from '../parts/missing-rows.tsx'
import { useNarrow } from '../parts/narrow.ts'
import { Pages, pageOf } from '../parts/pages.tsx'
import { Request } from '../parts/request.tsx'
import { Answer, Empty } from '../parts/states.tsx'
import { TableHead } from '../parts/table-head.tsx'
import { TablePlace } from '../parts/table-place.tsx'
import type { Range } from '../series/series.ts'
import { latestCoverage } from '../service/coverage.ts'
import { instrumentOf, marketLabel, marketUnit } from '../service/instruments.ts'
import { lyra } from '../service/lyra.ts'
import { isWhole, missingOf, missingSteps } from '../service/missing.ts'
import { useChanges } from '../service/use-changes.ts'
import { useQuery } from '../service/use-query.ts'
import { CumulativeChart } from './cumulative-chart.tsx'
import {
  cumulative,
  type DaySums,
  type MarketSums,
  runningSum,
  sumsByDay,
  sumsByMarket,
  totalOf,
  withDays,
} from './payments.ts'
import { StatementDownload } from './statement-download.tsx'

/** Payments are read so many at a time, so many times at most. */
const PAGE_ROWS = 5_000
const MAX_PAGES = 4

/** Days of a page of the table; on a phone each is a card. */
const DAYS = 14
const DAYS_OF_PHONE = 7

/** Lines of a chart: more cannot be told apart. */
const MOST_LINES = 6

type PartyPayments = {
  /** Newest first. */
  list: readonly FundingPayment[]
  /** Whether there are more than are read. */
  more: boolean
}

/** A party's payments in a range: totals, a chart and a table by day. */
export function Payments({ partyId }: { partyId: string }) {
  const held = heldPayments()
  const { version } = useChanges(partyId, (options) => lyra.streamFundingPayments({ partyId }, options))
  const range = held === null ? null : shownRange(held)
  const filters = { partyId, ...(range === null ? {} : { from: range.from, to: range.to }) }
  const query = useQuery(
    range === null ? null : `${partyId} ${subjectOf(range)}`,
    (signal) => askPayments(filters, signal),
    { version: `${range?.from} ${range?.to} ${version}` },
  )
  const { data, error } = query
  return (
    <section
      class={held !== null && data === null && error === null ? 'panel filling' : 'panel'}
      aria-labelledby="payments-title"
    >
      <div class="panel-head">
        <h2 id="payments-title">
          Funding payments of party <Id id={partyId} what="the party id" />
        </h2>
      </div>
      {held === null || range === null ? (
        <Empty title="No funding payments yet">The store has no funding payments of any party.</Empty>
      ) : (
        <>
          <RangeBar
            range={range}
            held={held}
            last={lastTime()}
            least={DAY}
            onSpan={(name) => setParams({ span: name, from: null, to: null, day: null })}
            onRange={({ from, to }) => setParams({ from: `${from}`, to: `${to}`, span: null, day: null })}
          />
          <p class="range-said">
            {formatMinute(range.from)} to {formatMinute(range.to)} UTC
          </p>
          <StatementDownload partyId={partyId} range={range} held={held} last={lastTime()} />
          <MissingRows resource="fundingPayments" range={range} />
          <Answer query={query} what="funding payments" tall>
            {(payments) =>
              payments.list.length === 0 ? (
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
          {data !== null && (
            <Request
              url={lyra.url('fundingPayments', filters, { first: PAGE_ROWS })}
              csv={lyra.url('fundingPayments', filters, { format: 'csv' })}
            />
          )}
        </>
      )}
    </section>
  )
}

/** From when to when the store has payments of any party; null if it has none. */
function heldPayments(): Range | null {
  const spans = latestCoverage()?.fundingPayments ?? []
  const times = spans.flatMap(({ firstTimestamp, lastTimestamp }) => [
    BigInt(firstTimestamp),
    BigInt(lastTimestamp),
  ])
  if (times.length === 0) return null
  const last = times.reduce((a, b) => (a > b ? a : b))
  // To the end of its second: ranges are shown in whole seconds.
  return { from: times.reduce((a, b) => (a < b ? a : b)), to: last - (last % SECOND) + SECOND - 1n }
}

const lastTime = () => BigInt(latestCoverage()?.blocks.lastTimestamp ?? 0)

/** A week up to the last payment, unless the address names another range. */
function shownRange(held: Range): ViewRange {
  const given = { from: param('from'), to: param('to'), span: param('span') }
  return viewRange(given, held, lastTime(), '7d')
}

async function askPayments(
  filters: { partyId: string; from?: bigint; to?: bigint },
  signal: AbortSignal,
): Promise<PartyPayments> {
  const list: FundingPayment[] = []
  let after: string | undefined
  for (let page = 0; page < MAX_PAGES; page++) {
    const { rows, pageInfo } = await lyra.fundingPaymentsPage(filters, {
      first: PAGE_ROWS,
      signal,
      ...(after === undefined ? {} : { after }),
    })
    list.push(...rows.map(({ node }) => node))
    if (!pageInfo.hasNextPage) return { list, more: false }
    after = pageInfo.endCursor
  }
  // Of the last time some payments may be on the next page: sums begin after it.
  return { list: list.filter(({ timestamp }) => timestamp !== list.at(-1)!.timestamp), more: true }
}

/** The settlement asset of a market, by its id; the market's own if that is not known: amounts are not added then. */
const assetOf = (marketId: string) => instrumentOf(marketId)?.settlementAsset?.id ?? marketId

export function PaymentFigures({
  payments: { list, more },
  range,
}: {
  payments: PartyPayments
  range: Range
}) {
  const byAsset = [...Map.groupBy(sumsByMarket(list), ({ marketId }) => assetOf(marketId))]
  const groups = byAsset.map(([, sums]) => sums)
  const missing = missingSteps(
    missingOf('fundingPayments', range),
    more ? { from: BigInt(list.at(-1)!.timestamp), to: range.to } : range,
    DAY,
  )
  const days = withDays(sumsByDay(list), missing)
  const rows = useNarrow() ? DAYS_OF_PHONE : DAYS
  const shown = pageOf('day', days.length, rows)
  const since = more ? ` since ${formatMinute(list.at(-1)!.timestamp)} UTC` : null
  return (
    <>
      {more && (
        <p class="notice">
          This range has more than {groupDigits(`${list.length}`)} payments: those before{' '}
          {formatMinute(list.at(-1)!.timestamp)} are not shown or added. Choose a shorter range.
        </p>
      )}
      <div class="asset-totals">
        {byAsset.map(([asset, own]) => (
          <AssetTotal key={asset} sums={own} since={since} />
        ))}
      </div>
      <MarketsTable groups={groups} />
      {byAsset.map(([asset, own]) => (
        <AssetChart key={asset} list={list} markets={own.map(({ marketId }) => marketId)} since={since} />
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

/** When the sums begin, if the range has more payments than are read: ` since 2026-10-12 14:00 UTC`. */
type Since = { since: string | null }

/** The total of markets with one settlement asset. */
function AssetTotal({ sums, since }: { sums: readonly MarketSums[] } & Since) {
  const unit = marketUnit(sums[0]!.marketId)
  const { total } = totalOf(sums)
  return (
    <dl class="facts totals" aria-label={`Total${unit === null ? '' : ` in ${unit.symbol}`}`}>
      <div>
        <dt>Total{since ?? ' of this range'}</dt>
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

function AssetChart({
  list,
  markets,
  since,
}: { list: readonly FundingPayment[]; markets: readonly string[] } & Since) {
  // The chart is drawn anew for other lines only.
  const { own, lines, total } = useMemo(() => {
    const payments = list.filter(({ marketId }) => markets.includes(marketId))
    const own = cumulative(payments)
    return { own, lines: own.slice(0, MOST_LINES), total: own.length > 1 ? runningSum(payments) : null }
  }, [list, markets.join()])
  const unit = marketUnit(markets[0]!)
  const gaps = useGapShades(latestCoverage()?.blocks.gaps ?? [])
  return (
    <>
      <h3 class="chart-title">
        Cumulative{since}
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
