import type { MarketSummary } from 'lyra-client'
import { useMemo, useState } from 'preact/hooks'
import { reportTarget } from '../../../client/src/requests.ts'
import { nextPayment } from '../../../src/core/domain/market-figures.ts'
import type { Shade } from '../charts/draw.ts'
import { describeGaps, useGapShades } from '../charts/gap-times.ts'
import { pricePlaces, whyNoUnit } from '../figures/amount.ts'
import { type Decimal, parseDecimal, subtract, writeDecimal } from '../figures/decimal.ts'
import { groupDigits } from '../figures/format-figure.ts'
import { formatMinute, formatSecond } from '../figures/format-time.ts'
import { param, setParams } from '../location.ts'
import { FreshnessText } from '../parts/freshness-text.tsx'
import { MissingRows } from '../parts/missing-rows.tsx'
import { useNarrow } from '../parts/narrow.ts'
import { Request } from '../parts/request.tsx'
import { Segments } from '../parts/segments.tsx'
import { Answered, Failure, Skeleton } from '../parts/states.tsx'
import { cumulative, dueWithin, type Period } from '../periods/period.ts'
import { RangeBar } from '../range/range-bar.tsx'
import { viewRange } from '../range/view-range.ts'
import { auctionTimes } from '../series/auctions.ts'
import { lastAtOrBefore, type Moment, momentsOf, type Range } from '../series/series.ts'
import { latestCoverage } from '../service/coverage.ts'
import { instrumentOf, instruments, marketLabel, marketUnit } from '../service/instruments.ts'
import { useChanges } from '../service/use-changes.ts'
import { type Query, together } from '../service/use-query.ts'
import type { FundingData } from './chart-columns.ts'
import { ChartPanel } from './chart-panel.tsx'
import { CHARTS } from './charts.ts'
import { dayBars, dayValues, MOST_BARS } from './days.ts'
import { Legend } from './legend.tsx'
import { MarkPrice } from './mark-price.tsx'
import { Nearest } from './nearest.tsx'
import { Cumulative, NowFigures } from './now-figures.tsx'
import { estimateAt, estimateLine, usePastEstimates } from './past-estimates.ts'
import { NoPeriodPayments, PeriodPayments } from './period-payments.tsx'
import { PeriodsTable } from './periods-table.tsx'
import { PointsTable } from './points-table.tsx'
import { PositionPayments, type RangePayments, usePayments } from './position-payments.tsx'
import {
  BAR_KINDS,
  type BarKind,
  barsOf,
  barValues,
  cumulativeAt,
  readingAt,
  runningPeriod,
  titleOf,
} from './reading.ts'
import { Readout, tipLines } from './readout.tsx'
import { useFunding } from './use-funding.ts'

export type FundingMarketProps = {
  marketId: string
  /** From the market's first point or period to its last. */
  held: Range
  summary: Query<MarketSummary | null>
}

/** Rates, charts, figures and tables of one market, over the range that the URL names. */
export function FundingMarket({ marketId, held, summary }: FundingMarketProps) {
  const coverage = latestCoverage()!
  const [pointed, setPointed] = useState<bigint | null>(null)
  const last = BigInt(coverage.blocks.lastTimestamp)
  const range = viewRange({ from: param('from'), to: param('to'), span: param('span') }, held, last)
  const hiddenText = param('hide') ?? ''
  const hidden = useMemo(() => new Set(hiddenText.split(',').filter((name) => name !== '')), [hiddenText])
  const kind: BarKind = Object.hasOwn(BAR_KINDS, param('bars') ?? '') ? (param('bars') as BarKind) : 'rate'
  const points = coverage.fundingPeriodDataPoints.find((entry) => entry.marketId === marketId)
  const changes = useChanges(marketId, (client, options) =>
    client.streamFundingPeriodDataPoints({ marketId }, options),
  )
  const version = `${changes.version} ${points?.count ?? ''} ${points?.lastTimestamp ?? ''}`
  const { series, newest, periods, estimate, auctions, byDay, days } = useFunding(
    marketId,
    held,
    range,
    version,
  )
  const drawn = together(series, periods, estimate, auctions, days)
  const gaps = useGapShades(coverage.blocks.gaps)
  const unit = marketUnit(marketId)
  const list = periods.data?.list ?? []
  const latest = newest.data?.list ?? []
  const paidSeq = param('paid')
  const paid = list.find(({ seq }) => `${seq}` === paidSeq)

  const inAuction = useMemo(
    () => auctionTimes(auctions.data ?? [], last).map((at): Shade => ({ ...at, kind: 'auction' })),
    [auctions.data, last],
  )
  const data = useMemo((): FundingData | null => {
    if (series.data === null) return null
    const moments = momentsOf(series.data)
    return {
      moments,
      bucket: series.data.bucket,
      periods: periods.data?.list ?? null,
      shades: [...inAuction, ...gaps],
      decimals: unit?.decimals ?? 0,
    }
  }, [series.data, periods.data, inAuction, gaps, unit?.decimals])
  const payments = usePayments(marketId, range, `${latest.length} ${latest.at(-1)?.seq ?? ''}`)
  const areAll =
    periods.data !== null && (!periods.data.more || list[0] === undefined || list[0].start <= range.from)
  const firstListed = areAll || periods.loading ? null : list[0]!.start
  const before = areAll ? undefined : sumBefore(list, payments.isOther ? null : payments.data)
  const dayList = days.data ?? []
  const shownDays = byDay ? dayList : null
  const bars = useMemo(
    () =>
      byDay
        ? dayBars(dayValues(days.data ?? [], range, kind))
        : barsOf(list, range, estimate.data, kind, before),
    [
      periods.data,
      byDay,
      days.data,
      estimate.data,
      kind,
      range.from,
      range.to,
      before && writeDecimal(before),
    ],
  )
  const wantsEstimates = param('estimates') !== null && !byDay && kind !== 'cumulative'
  const past = usePastEstimates(marketId, wantsEstimates, range)
  const line = useMemo(
    () => (past.data === null || !wantsEstimates ? [] : estimateLine(past.data, list, kind)),
    [past.data, wantsEstimates, periods.data, kind],
  )
  const valuesOf = (kind: BarKind) =>
    byDay ? dayValues(dayList, range, kind) : barValues(list, range, estimate.data, kind, before)
  const drawnBars = { kind, values: valuesOf(kind) }
  const cumulativeAtTime = (time: bigint) =>
    byDay
      ? (valuesOf('cumulative').get(dayList[lastAtOrBefore(dayList, time)]?.start ?? -1n) ?? null)
      : cumulativeAt(list, valuesOf('cumulative'), time)

  const look = ({ from, to }: Range, settled: boolean) =>
    setParams({ from: `${from}`, to: `${to}`, span: null, after: null, before: null }, { push: settled })
  const follow = (span: string | null) => setParams({ span, from: null, to: null, after: null, before: null })
  const empty =
    data !== null && !series.loading && !data.moments.some((moment) => isWithin(moment, data, range))
  // Without a pointer, nothing is read from before the range.
  const reading =
    data === null || (empty && pointed === null) ? null : readingAt(data, pointed ?? lastIn(data, range))
  const why = instruments.value === null ? null : whyNoUnit(instrumentOf(marketId))
  const narrow = useNarrow()
  // On a phone they stand below the first chart, which then begins in the upper half.
  const ofRange = (
    <>
      <Cumulative
        periods={periods.data === null ? null : list}
        range={range}
        areAll={areAll}
        payments={payments}
      />
      <PositionPayments
        marketId={marketId}
        payments={payments}
        running={runningPeriod(latest)}
        estimate={estimate.data}
        unit={unit}
        summary={summary}
      />
    </>
  )
  const onPhone = narrow && (
    <div class="now-figures">
      {ofRange}
      <MarkPrice query={summary} />
    </div>
  )
  const seriesUrl = `${location.origin}${reportTarget('series', marketId, { from: range.from, to: range.to, buckets: 500 })}`
  const title = `${marketLabel(marketId)}, ${formatMinute(range.from)} to ${formatMinute(range.to < last ? range.to : last)} UTC`
  return (
    <>
      <MissingRows resource="fundingPeriods" range={range} />
      <section class="panel now" aria-label="Funding now">
        {newest.data === null && newest.error === null ? (
          <Skeleton what="funding periods" lines={3} />
        ) : (
          <Answered query={together(newest, estimate)}>
            <NowFigures
              periods={newest.data === null ? null : latest}
              estimate={estimate.data}
              summary={summary.data}
              due={nextPayment(instrumentOf(marketId)?.funding?.schedule, last)}
              unit={unit}
              last={last}
            >
              {!narrow && ofRange}
            </NowFigures>
          </Answered>
        )}
      </section>
      <RangeBar range={range} held={held} last={last} onSpan={follow} onRange={(next) => look(next, true)}>
        <LiveButton follows={range.follows} rows={changes.rows} onFollow={() => follow(null)} />
      </RangeBar>
      <section class="panel chart-panel" aria-label="Charts" aria-busy={drawn.loading}>
        {data === null && series.error !== null && <Failure error={series.error} onRetry={series.reload} />}
        {empty && (
          <Nearest
            key={`${range.from} ${range.to}`}
            marketId={marketId}
            range={range}
            held={held}
            onRange={(next) => look(next, true)}
            onAll={() => follow('all')}
          />
        )}
        <Answered query={drawn} class={data === null ? 'chart-place waiting' : 'chart-place'}>
          {data === null && series.error === null && <Skeleton what="charts" tall />}
          <ChartPanel
            data={data}
            bars={bars}
            line={line}
            barsText={`${BAR_KINDS[kind]}${byDay ? ', by day' : ''}, in %`}
            range={range}
            hidden={hidden}
            unit={unit}
            title={title}
            onRange={look}
            onPoint={setPointed}
            head={
              <>
                <h2 class="chart-title">{titleOf(kind, byDay)}</h2>
                <Segments
                  label="Values of the bars"
                  name="bars"
                  choices={BAR_KINDS}
                  chosen={kind}
                  byDefault="rate"
                />
                {!byDay && kind !== 'cumulative' && (
                  <button
                    type="button"
                    class="small-toggle"
                    aria-pressed={wantsEstimates}
                    title="What each period would have paid, as estimated at each time before its end"
                    onClick={() => setParams({ estimates: wantsEstimates ? null : '1' }, { push: false })}
                  >
                    Estimates
                  </button>
                )}
              </>
            }
            tip={(time) =>
              tipLines(
                readingAt(data!, time),
                drawnBars,
                shownDays,
                unit,
                past.data === null || !wantsEstimates ? null : estimateAt(past.data, list, kind, time),
              )
            }
            figures={data !== null && onPhone}
            legend={
              <Legend hidden={hidden} onChange={(next) => setParams({ hide: [...next].join(',') || null })} />
            }
            readout={
              <Readout
                reading={reading}
                bars={drawnBars}
                days={shownDays}
                cumulative={reading === null ? null : cumulativeAtTime(reading.time)}
                pointed={pointed !== null}
                unit={unit}
                {...(unit !== null && { places: pricePlaces(instrumentOf(marketId)) })}
                interval={series.data?.interval ?? ''}
              />
            }
          />
        </Answered>
        {data === null && series.error !== null && onPhone}
        {wantsEstimates && past.error !== null && <Failure error={past.error} onRetry={past.reload} />}
        {wantsEstimates && past.data?.isCut && (
          <p class="notes">
            The range has too many estimates to draw them at each time: choose a shorter one.
          </p>
        )}
        {data !== null && <ChartNotes data={data} range={range} why={why} byDay={byDay} />}
        <Request url={seriesUrl} csv={`${seriesUrl}&format=csv`} marketId={marketId} />
        {days.data === null && days.error !== null && <Failure error={days.error} onRetry={days.reload} />}
      </section>
      <PeriodsTable
        marketId={marketId}
        periods={periods}
        firstListed={firstListed}
        range={range}
        estimate={estimate.data}
        unit={unit}
      />
      {paid?.end != null ? (
        <PeriodPayments
          key={`${paid.seq}`}
          marketId={marketId}
          period={{ ...paid, end: paid.end }}
          unit={unit}
        />
      ) : (
        paidSeq !== null && periods.data !== null && <NoPeriodPayments seq={paidSeq} period={paid ?? null} />
      )}
      <PointsTable marketId={marketId} range={range} unit={unit} version={version} />
    </>
  )
}

/** The sum of the rates due in a range before the first period that is loaded; null if it is not known. */
function sumBefore(list: readonly Period[], payments: RangePayments | null): Decimal | null {
  const sum = payments === null ? null : parseDecimal(payments.sumOfRates)
  return sum === null ? null : subtract(sum, cumulative(dueWithin(list, payments!.range)))
}

/** The time shown without a pointer: the end of the range, or of the data if that is earlier. */
function lastIn(data: FundingData, range: Range): bigint {
  const last = data.moments.at(-1)?.start ?? range.to
  return last < range.to ? last : range.to - 1n
}

function isWithin({ start }: Moment, { bucket }: FundingData, { from, to }: Range): boolean {
  return start < to && start + bucket > from
}

/** The latest of some times, and how many there are besides. */
function describeTimes(times: readonly Range[]): string {
  const { from, to } = times.at(-1)!
  const others = times.length - 1
  const latest = `from ${formatSecond(from)} to ${formatSecond(to)}`
  return others === 0
    ? latest
    : `${latest} and ${groupDigits(`${others}`)} earlier ${others === 1 ? 'auction' : 'auctions'}`
}

type ChartNotesProps = {
  data: FundingData
  range: Range
  why: string | null
  /** Whether rates are drawn in sums by day. */
  byDay: boolean
}

/** Describes what the charts show and omit. */
export function ChartNotes({ data, range, why, byDay }: ChartNotesProps) {
  const shades = data.shades.filter(({ from, to }) => from < range.to && to > range.from)
  const gaps = shades.filter(({ kind }) => kind === 'gap')
  const auctions = shades.filter(({ kind }) => kind === 'auction')
  const counts = (['external', 'internal'] as const).map((source) =>
    data.moments.reduce(
      (sum, moment) =>
        moment[source]?.start === moment.start && isWithin(moment, data, range)
          ? sum + moment[source]!.count
          : sum,
      0n,
    ),
  )
  return (
    <p class="notes" data-charts={CHARTS.length}>
      Drawn from {groupDigits(`${counts[0]}`)} external and {groupDigits(`${counts[1]}`)} internal points: the
      last price and TWAP of each step, with a band from its lowest to its highest price. Steps at the ends of
      the range count whole, and each point once: the table of data points lists it again for each later
      period into which it was carried over.
      {byDay &&
        ` The range has more than ${groupDigits(`${MOST_BARS}`)} funding periods: rates are drawn in sums by day (UTC), from /api/v2/funding-rates.`}
      {auctions.length > 0 && (
        <>
          {' '}
          <span class="key auction" /> In auction {describeTimes(auctions)}: prices in an auction do not count
          towards TWAPs.
        </>
      )}
      {gaps.length > 0 && (
        <>
          {' '}
          <span class="key gap" /> {describeGaps(gaps)}.
        </>
      )}
      {why !== null && ` Prices are shown as sent, as whole numbers: ${why}.`}
    </p>
  )
}

type LiveButtonProps = { follows: boolean; rows: number; onFollow: () => void }

/** How current the data are, and whether the range follows them. */
function LiveButton({ follows, rows, onFollow }: LiveButtonProps) {
  return (
    <button
      type="button"
      class="live"
      aria-pressed={follows}
      title={follows ? 'The range follows the latest point' : 'Follow the latest point'}
      onClick={onFollow}
    >
      {!follows && <span>Follow</span>}
      <FreshnessText />
      {rows > 0 && <span class="live-count">+{groupDigits(String(rows))}</span>}
    </button>
  )
}
