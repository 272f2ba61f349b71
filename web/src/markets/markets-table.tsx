import type { MarketSummary } from 'lyra-client'
import { PRICE_PLACES, unitOf, whyNoUnit } from '../figures/amount.ts'
import { writeDecimal } from '../figures/decimal.ts'
import { formatRate, groupDigits } from '../figures/format-figure.ts'
import { AnnualRate, Rate } from '../funding/now-figures.tsx'
import { param, setParams } from '../location.ts'
import { Amount, Rounded } from '../parts/amount.tsx'
import { Link } from '../parts/link.tsx'
import { MarketState } from '../parts/market-bar.tsx'
import { MarketName } from '../parts/market-name.tsx'
import { TablePlace } from '../parts/table-place.tsx'
import { whoPays } from '../periods/period.ts'
import { latestCoverage } from '../service/coverage.ts'
import { marketLabel } from '../service/instruments.ts'
import { Sparkline } from './sparkline.tsx'
import {
  currentRate,
  MOST_COMPARED,
  paidLength,
  pricePremiumOf,
  SORTS,
  type Sort,
  sortSummaries,
  standingOf,
} from './summary.ts'

const COLUMNS: readonly { sort: Sort | null; title: string; meaning: string; figure?: true; less?: true }[] =
  [
    {
      sort: 'market',
      title: 'Market',
      meaning: 'Code, or the ends of the id where no event named the market.',
    },
    {
      sort: 'rate',
      title: 'Rate now',
      meaning:
        'What the running period would charge if it ended now: an estimate. Without one, the last paid rate.',
      figure: true,
    },
    {
      sort: 'annualised',
      title: 'Annualised',
      meaning: 'The rate times the number of periods, as long as the last paid one, in 365 days.',
      figure: true,
    },
    { sort: 'paid', title: 'Last paid', meaning: 'The rate of the last period that was paid.', figure: true },
    {
      sort: 'premium',
      title: 'Price premium',
      meaning: 'The last internal price divided by the last external price, minus 1.',
      figure: true,
    },
    {
      sort: 'price',
      title: 'External price',
      meaning: 'The last external price, in the settlement asset.',
      figure: true,
    },
    {
      sort: null,
      title: 'Price',
      meaning: 'The internal price in the 24 hours before the last block, or since the first point.',
    },
    { sort: 'providers', title: 'Providers', meaning: 'Liquidity providers.', figure: true },
    { sort: 'state', title: 'State', meaning: "The market's state, and how it trades." },
  ]

export type MarketsTableProps = {
  summaries: readonly MarketSummary[]
  compared: readonly string[]
  onCompare: (marketIds: readonly string[]) => void
}

/** Markets, one below the other, sorted by any column. */
export function MarketsTable({ summaries, compared, onCompare }: MarketsTableProps) {
  const sorting = readSorting()
  const sortBy = (sort: Sort) => {
    const descending = sorting.sort === sort ? !sorting.descending : sort !== 'market' && sort !== 'state'
    setParams({ sort: `${descending ? '-' : ''}${sort}` }, { push: false })
  }
  return (
    <TablePlace name="Table of markets">
      <table class="markets">
        <thead>
          <tr>
            {COLUMNS.map(({ sort, title, meaning, figure }) => (
              <th
                key={title}
                scope="col"
                class={figure ? 'figure-column' : ''}
                title={meaning}
                {...(sort !== null && {
                  'aria-sort':
                    sorting.sort !== sort
                      ? ('none' as const)
                      : sorting.descending
                        ? ('descending' as const)
                        : ('ascending' as const),
                })}
              >
                {sort === null ? (
                  title
                ) : (
                  <button type="button" class="sort" onClick={() => sortBy(sort)}>
                    {title}
                    <span aria-hidden="true" class="sort-mark">
                      {sorting.sort === sort ? (sorting.descending ? '↓' : '↑') : ''}
                    </span>
                  </button>
                )}
              </th>
            ))}
            <th scope="col">Compare</th>
          </tr>
        </thead>
        <tbody>
          {sortSummaries(summaries, sorting).map((summary) => (
            <Row key={summary.marketId} summary={summary} compared={compared} onCompare={onCompare} />
          ))}
        </tbody>
      </table>
    </TablePlace>
  )
}

function Row({
  summary,
  compared,
  onCompare,
}: { summary: MarketSummary } & Omit<MarketsTableProps, 'summaries'>) {
  const { marketId, instrument, lastExternalPoint, lastPaidPeriod, providers } = summary
  const unit = unitOf(instrument)
  const rate = currentRate(summary)
  const standing = standingOf(summary)
  const premium = pricePremiumOf(summary)
  const coverage = latestCoverage()
  const points = coverage?.fundingPeriodDataPoints.find((entry) => entry.marketId === marketId)
  const name = marketLabel(marketId)
  const checked = compared.includes(marketId)
  const hasFunding = points !== undefined || lastPaidPeriod !== null || summary.runningPeriod !== null
  const price = lastExternalPoint?.price
  return (
    <tr data-market={marketId}>
      <th scope="row">
        <MarketName
          marketId={marketId}
          {...(hasFunding && { link: { view: 'funding' as const, params: { market: marketId } } })}
        />
        {instrument !== null && instrument.name !== '' && <span class="under">{instrument.name}</span>}
      </th>
      <td class="figure-column">
        {rate === null ? (
          '–'
        ) : (
          <>
            <Rate text={rate.text} name="rate" />
            <span class="under">
              {rate.estimate ? 'estimate, ' : 'last paid, '}
              {whoPays(rate.text)}
            </span>
          </>
        )}
      </td>
      <td class="figure-column">
        <AnnualRate rate={rate?.text ?? null} length={paidLength(summary)} name="annualised" />
      </td>
      <td class="figure-column">
        {lastPaidPeriod?.fundingRate === undefined ? (
          '–'
        ) : (
          <Rate text={lastPaidPeriod.fundingRate} name="paid" />
        )}
      </td>
      <td class="figure-column">
        {premium === null ? (
          '–'
        ) : (
          <Rounded text={writeDecimal(premium)} shown={formatRate(premium, 2)} name="premium" />
        )}
      </td>
      <td class="figure-column">
        {price === undefined ? (
          '–'
        ) : (
          <span title={whyNoUnit(instrument) ?? undefined}>
            <Amount text={price} unit={unit} places={PRICE_PLACES} name="price" />
          </span>
        )}
      </td>
      <td>
        <Sparkline
          marketId={marketId}
          name={name}
          first={points === undefined ? null : BigInt(points.firstTimestamp)}
          last={BigInt(coverage?.blocks.lastTimestamp ?? 0)}
        />
      </td>
      <td class="figure-column">
        {providers === '0' ? (
          '0'
        ) : (
          <Link view="providers" params={{ market: marketId }}>
            {groupDigits(providers)}
          </Link>
        )}
      </td>
      <td>
        {standing === null ? <span class="quiet">not known</span> : <MarketState standing={standing} />}
      </td>
      <td>
        <input
          type="checkbox"
          aria-label={`Compare ${name}`}
          checked={checked}
          disabled={!hasFunding || (!checked && compared.length >= MOST_COMPARED)}
          onChange={() =>
            onCompare(checked ? compared.filter((id) => id !== marketId) : [...compared, marketId])
          }
        />
      </td>
    </tr>
  )
}

/** The order that the view's state names; by name where it names none. */
function readSorting(): { sort: Sort; descending: boolean } {
  const [, sign, name] = /^(-?)(\w+)$/.exec(param('sort') ?? '') ?? []
  const sort = SORTS.find((known) => known === name)
  return sort === undefined ? { sort: 'market', descending: false } : { sort, descending: sign === '-' }
}
