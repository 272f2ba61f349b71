import type { MarketSummary } from 'lyra-client'
import type { ComponentChildren } from 'preact'
import { unitOf, whyNoUnit } from '../figures/amount.ts'
import { type Decimal, writeDecimal } from '../figures/decimal.ts'
import { formatRate, groupDigits, RATE_PLACES } from '../figures/format-figure.ts'
import { Link } from '../parts/link.tsx'
import { MarketState } from '../parts/pickers/market-bar.tsx'
import { Amount, Rounded } from '../parts/values/amount.tsx'
import { AsOf } from '../parts/values/as-of.tsx'
import { DueTime } from '../parts/values/due-time.tsx'
import { whoPays } from '../periods/period.ts'
import { latestCoverage } from '../service/coverage.ts'
import { isOutdated } from '../service/freshness.ts'
import { marketLabel } from '../service/instruments.ts'
import { currentRate, marketStatusOf, nextPaymentOf, whyNoFunding } from '../service/summary.ts'
import type { Sort } from './market-order.ts'
import { averageOn, pricePremiumOf, type RateBasis, rateOn } from './rates.ts'
import { Sparkline } from './sparkline.tsx'

/** A column of the table of markets. */
export type Column = {
  /** Null for what nothing is sorted by. */
  sort: Sort | null
  title: string
  meaning: string
  figure?: true
  /** Whether it needs twice the room on a card. */
  broad?: true
  cell: (summary: MarketSummary, shown: Shown) => ComponentChildren
}

/** What rates are shown for, and the time of the last block. */
export type Shown = { basis: RateBasis; last: bigint }

/** An average of the market's rates. */
const averageColumn = (sort: '24h' | '7d' | '30d', window: string): Column => ({
  sort,
  title: `${sort.replace('h', ' h').replace('d', ' d')} average`,
  meaning: `Average rate in the ${window} before the last block. None if the store does not cover all of that time.`,
  figure: true,
  cell: (summary, { basis }) => {
    const text = summary.averages[sort]
    if (text === null) return <span title={`The store does not cover the last ${window}.`}>–</span>
    return (
      <ShownRate
        text={basis === '8h' ? text : null}
        rate={averageOn(basis, summary, sort)}
        name={`average-${sort}`}
      />
    )
  },
})

/**
 * A rate on the basis that is shown; exact on hover.
 *
 * @param text the text that was sent, if it is that of the same basis
 */
function ShownRate({
  text = null,
  rate,
  name,
}: {
  text?: string | null
  rate: Decimal | null
  name: string
}) {
  if (rate === null) return <>–</>
  return <Rounded text={text ?? writeDecimal(rate)} shown={formatRate(rate, RATE_PLACES)} name={name} />
}

export const COLUMNS: readonly Column[] = [
  {
    sort: 'rate',
    title: 'Rate now',
    meaning: 'Estimated rate if the running period ended now. Without an estimate, the last paid rate.',
    figure: true,
    cell: (summary, { basis }) => {
      const rate = currentRate(summary)
      if (rate === null) {
        const why = whyNoFunding(summary.instrument)
        return why === null ? '–' : <span class="quiet no-funding">{why}</span>
      }
      return (
        <span class={rate.at !== null && isOutdated.value ? 'stale' : undefined}>
          <ShownRate
            text={basis === 'period' ? rate.text : null}
            rate={rateOn(basis, summary, rate.text)}
            name="rate"
          />
          <span class="under">{rate.at === null ? 'of the last period' : 'estimate'}</span>
          <span class="under">{whoPays(rate.text)}</span>
          {rate.at !== null && <AsOf time={rate.at} />}
        </span>
      )
    },
  },
  {
    sort: 'price',
    title: 'External price',
    meaning: 'The last external price, in the settlement asset.',
    figure: true,
    cell: ({ instrument, lastExternalPoint }) =>
      lastExternalPoint === null ? (
        '–'
      ) : (
        <span class={isOutdated.value ? 'stale' : undefined} title={whyNoUnit(instrument) ?? undefined}>
          <Amount text={lastExternalPoint.price} unit={unitOf(instrument)} name="price" />
        </span>
      ),
  },
  {
    sort: 'premium',
    title: 'Price premium',
    meaning: 'Premium of the price: (last internal price − last external price) ÷ last external price.',
    figure: true,
    cell: (summary) => {
      const premium = pricePremiumOf(summary)
      if (premium === null) return '–'
      return <Rounded text={writeDecimal(premium)} shown={formatRate(premium, 3)} name="premium" />
    },
  },
  {
    sort: 'next',
    title: 'Next payment',
    meaning: "Next funding time by the market's schedule. Some markets have none.",
    cell: (summary, { last }) => {
      const due = nextPaymentOf(summary, last)
      if (due !== null) {
        return (
          <DueTime due={due} last={last}>
            <AsOf time={last} />
          </DueTime>
        )
      }
      const { instrument } = summary
      const isUnknown = instrument?.funding?.schedule == null && whyNoFunding(instrument) === null
      return isUnknown ? <span class="quiet">no schedule</span> : '–'
    },
  },
  {
    sort: 'paid',
    title: 'Last paid',
    meaning: 'Rate of the last paid period.',
    figure: true,
    cell: (summary, { basis }) => {
      const text = summary.lastPaidPeriod?.fundingRate ?? ''
      return (
        <ShownRate text={basis === 'period' ? text : null} rate={rateOn(basis, summary, text)} name="paid" />
      )
    },
  },
  averageColumn('24h', '24 hours'),
  averageColumn('7d', '7 days'),
  averageColumn('30d', '30 days'),
  {
    sort: null,
    title: 'Price',
    meaning: 'Internal price in the 24 hours before the last block, or since the first point.',
    broad: true,
    cell: ({ marketId }) => {
      const coverage = latestCoverage()
      const points = coverage?.fundingPeriodDataPoints.find((entry) => entry.marketId === marketId)
      return (
        <Sparkline
          marketId={marketId}
          name={marketLabel(marketId)}
          first={points === undefined ? null : BigInt(points.firstTimestamp)}
          last={BigInt(coverage?.blocks.lastTimestamp ?? 0)}
        />
      )
    },
  },
  {
    sort: 'providers',
    title: 'Providers',
    meaning: 'Liquidity providers.',
    figure: true,
    cell: ({ marketId, providers }) =>
      providers === '0' ? (
        '0'
      ) : (
        <Link view="providers" params={{ market: marketId }}>
          {groupDigits(providers)}
        </Link>
      ),
  },
  {
    sort: 'state',
    title: 'State',
    meaning: 'State and trading mode of the market.',
    broad: true,
    cell: (summary) => {
      const status = marketStatusOf(summary)
      if (status === null) return <span class="quiet">not known</span>
      return (
        <span class={isOutdated.value ? 'stale' : undefined}>
          <MarketState status={status} />
        </span>
      )
    },
  },
]

/** The column with the row's name. */
export const MARKET = {
  sort: 'market' as const,
  title: 'Market',
  meaning: 'Code, or the ends of the id if the name is unknown.',
}

/** Whether a column is of averages over a time that the store does not cover for any of the markets. */
export function isEmpty(sort: Sort | null, summaries: readonly MarketSummary[]): boolean {
  return (
    (sort === '24h' || sort === '7d' || sort === '30d') &&
    summaries.every(({ averages }) => averages[sort] === null)
  )
}
