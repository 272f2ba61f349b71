import { type Decimal, textOfDecimal } from '#core/domain/decimal'
import { nextPayment, pricePremium } from '#core/domain/market-figures'
import { isStorableNumber } from '#core/events/left-out'
import { ENDED_STATES, MARKET_STATES } from '#core/events/market-enums'
import type { Row } from '#core/model/resource'
import { marketSummaries } from '#core/resources/market-summaries'
import { countProviders, readStandings } from '#core/store/queries/standings/liquidity-standing'
import type { Standing } from '#core/store/queries/standings/standing'
import type { MarketSummaries } from '#core/store/queries/summaries/market-summaries'
import type { Query } from '#core/store/queries-protocol'
import { type Gauge, gaugesText, labelsText, PROMETHEUS_TYPE } from '../formats/prometheus-text.ts'
import { LIMITS } from '../http/limits.ts'
import { MARKET_METRICS_PATH } from '../http/paths.ts'
import { summariesOf } from './market-summaries.ts'
import { type Question, type RenderedBody, type Report, renderedBody } from './question.ts'

/** What gauges of markets need of a summary's node. */
type Summary = {
  marketId: string
  instrument: { code: string; state: string; funding: Funding | null } | null
  lastPaidPeriod: { fundingRate?: string } | null
  estimate: { fundingRate: string } | null
  lastExternalPoint: { price: string; timestamp: string } | null
  lastInternalPoint: { price: string } | null
  marketData: { marketState: string } | null
}

type Funding = { schedule: { initial: string | null; every: string } | null }

/** A gauge without its series; `measure` gives a value as text, and nothing or an empty text if it is not known. */
type Measured<Of> = { name: string; help: string; measure: (of: Of) => string | null | undefined }

/** A market's summary, and the time of the last block, Unix nanoseconds. */
type MarketAt = { summary: Summary; at: bigint }

const OF_MARKETS: readonly Measured<MarketAt>[] = [
  {
    name: 'lyra_market_funding_rate_estimate',
    help: 'Funding rate of the running period if it ended now, as published by the network.',
    measure: ({ summary: { estimate } }) => estimate?.fundingRate,
  },
  {
    name: 'lyra_market_funding_rate_last',
    help: 'Funding rate of the last paid period.',
    measure: ({ summary: { lastPaidPeriod } }) => lastPaidPeriod?.fundingRate,
  },
  {
    name: 'lyra_market_premium',
    help: 'Last internal price divided by last external price, minus 1.',
    measure: ({ summary: { lastInternalPoint, lastExternalPoint } }) =>
      lastInternalPoint === null || lastExternalPoint === null
        ? null
        : textOrNull(pricePremium(lastInternalPoint.price, lastExternalPoint.price)),
  },
  {
    name: 'lyra_market_next_payment_timestamp_seconds',
    help: 'Time at which the next funding payment after the last block is due.',
    measure: ({ summary: { instrument }, at }) =>
      secondsOf(nextPayment(instrument?.funding?.schedule ?? null, at)),
  },
  {
    name: 'lyra_market_external_price_timestamp_seconds',
    help: 'Time of the last external price.',
    measure: ({ summary: { lastExternalPoint } }) =>
      secondsOf(lastExternalPoint === null ? null : BigInt(lastExternalPoint.timestamp)),
  },
]

const OF_PROVIDERS: readonly Measured<Standing>[] = [
  {
    name: 'lyra_provider_time_on_book',
    help: "Fraction of the running epoch until now during which the provider's orders covered its commitment.",
    measure: ({ timeOnBook }) => timeOnBook,
  },
  {
    name: 'lyra_provider_minimum',
    help: 'Fraction of an epoch that a provider of the market must be on the book.',
    measure: ({ minimum }) => minimum,
  },
  {
    name: 'lyra_provider_still_needed',
    help: 'Fraction of the remaining epoch that the provider must be on the book to reach the minimum: 0 if it has, above 1 if it cannot.',
    measure: ({ stillNeeded }) => stillNeeded,
  },
  {
    name: 'lyra_provider_fee_penalty_last',
    help: 'Fraction of its fees that the provider lost for the last epoch.',
    measure: ({ feePenaltyLastEpoch }) => feePenaltyLastEpoch,
  },
]

const HELP_OF_DROPPED = 'Liquidity providers whose series are left out, because all series would be too many.'

/** The description of the answer, which is text. */
export const MARKET_METRICS: Report = {
  operationId: 'getMarketMetrics',
  summary: 'Get figures of markets and liquidity providers in Prometheus text format',
  body: { type: 'string' },
}

/** What limits the answer; it has no parameters. */
type CheckedMetrics = { mostSeries: number }

/**
 * The figures of all markets that have not ended, and of their liquidity providers, as gauges for Prometheus: those of market
 * summaries and of the providers' standing, in one snapshot. It is not in `QUESTIONS`: a service answers it only if it is
 * switched on.
 *
 * @param mostSeries with more series, providers have none
 */
export function marketMetricsQuestion(mostSeries = LIMITS.marketSeries): Question<CheckedMetrics> {
  return {
    path: MARKET_METRICS_PATH,
    parameters: [],
    check: () => ({ mostSeries }),
    render: (checked, { reader }) => {
      const summaries = summariesOf(reader)
      return reader.read(() => readMetrics(summaries, checked))
    },
    workload: () => ({ queue: 'report' }),
    sourceOf: () => 'the next commit',
    description: MARKET_METRICS,
  }
}

/** Reads the figures, and writes them; null in an empty store. */
function* readMetrics(
  summaries: MarketSummaries,
  { mostSeries }: CheckedMetrics,
): Query<RenderedBody | null> {
  const answer = yield* summaries.all()
  if (answer === null) return null
  const { storeHead, version, rows } = answer
  const markets = rows.map(summaryOf).filter((summary) => !hasEnded(summary))
  const at = BigInt(storeHead.timestamp)
  const ofMarkets = gaugesOf(
    OF_MARKETS,
    markets.map((summary) => [labelsText(marketLabels(summary)), { summary, at }]),
  )
  const byId = new Map(markets.map((summary) => [summary.marketId, summary]))
  const { standings, count } = yield* readProviders(mostSeries)
  const ofProviders = gaugesOf(
    OF_PROVIDERS,
    standings.flatMap((standing) => {
      const market = byId.get(standing.marketId)
      if (market === undefined) return []
      return [[labelsText({ ...marketLabels(market), party_id: standing.partyId }), standing]]
    }),
  )
  const areTooMany = count > standings.length || seriesOf(ofMarkets) + seriesOf(ofProviders) > mostSeries
  const dropped: Gauge = {
    name: 'lyra_market_metrics_dropped',
    help: HELP_OF_DROPPED,
    series: [['', areTooMany ? count : 0]],
  }
  const providers = areTooMany ? gaugesOf(OF_PROVIDERS, []) : ofProviders
  const body = Buffer.from(gaugesText([...ofMarkets, ...providers, dropped]))
  return {
    ...renderedBody(body, storeHead, version),
    file: { type: PROMETHEUS_TYPE, name: null, headers: {} },
  }
}

/** How all providers stand, and their number; none if these are more than `most`. */
function* readProviders(most: number): Query<{ standings: readonly Standing[]; count: number }> {
  const answer = yield* readStandings({ marketId: null, partyId: null }, most)
  const standings = answer?.standings ?? []
  return { standings, count: answer?.areTooMany ? yield* countProviders() : standings.length }
}

function summaryOf(row: Row): Summary {
  return JSON.parse(marketSummaries.node(row, {}))
}

const ENDED: ReadonlySet<string> = new Set(ENDED_STATES.map((state) => MARKET_STATES[state]!))

/** Whether a market pays no funding any more, by its latest data or, without those, by its older instrument. */
function hasEnded({ marketData, instrument }: Summary): boolean {
  return ENDED.has(marketData?.marketState ?? instrument?.state ?? '')
}

/** Several markets may have one code; the code of a market of which no event is stored is not known. */
function marketLabels({ marketId, instrument }: Summary): { market: string; market_id: string } {
  return { market: instrument?.code ?? '', market_id: marketId }
}

/** Gauges with a series for each known value of what the labels name. */
function gaugesOf<Of>(
  gauges: readonly Measured<Of>[],
  labelled: readonly [labels: string, of: Of][],
): Gauge[] {
  return gauges.map(({ name, help, measure }) => ({
    name,
    help,
    series: labelled.flatMap(([labels, of]) => {
      const value = doubleOf(measure(of))
      return value === null ? [] : [[labels, value]]
    }),
  }))
}

const seriesOf = (gauges: readonly Gauge[]) => gauges.reduce((sum, { series }) => sum + series.length, 0)

/** The nearest double; null for what is no number, or larger than any double. */
function doubleOf(text: string | null | undefined): number | null {
  if (text == null || !isStorableNumber(text)) return null
  const value = Number(text)
  return Number.isFinite(value) ? value : null
}

const textOrNull = (value: Decimal | null) => (value === null ? null : textOfDecimal(value))

/** A time in Unix nanoseconds as seconds. */
const secondsOf = (time: bigint | null) => textOrNull(time === null ? null : { digits: time, scale: 9 })
