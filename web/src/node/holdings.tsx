import type { Coverage } from 'lyra-client'
import { groupDigits } from '../figures/format-figure.ts'
import { formatTime } from '../figures/format-time.ts'
import { csvOf } from '../parts/csv/csv.ts'
import { Request } from '../parts/request.tsx'
import { Pages, pageOf } from '../parts/tables/pages.tsx'
import { TableHead } from '../parts/tables/table-head.tsx'
import { TablePlace } from '../parts/tables/table-place.tsx'
import { MarketName } from '../parts/values/market-name.tsx'
import { pointsOf, sumOf } from '../service/coverage.ts'
import { knownMarkets } from '../service/markets.ts'

/** Rows of a page. */
const ROWS = 100

/** Row counts of each resource. */
export function Holdings({ coverage }: { coverage: Coverage }) {
  const { checkpoints, fundingPayments, fundingPeriodDataPoints, fundingPeriods, instruments } = coverage
  const { liquidityProviders, liquidityProviderHistory, auctions, epochs, paidLiquidityFeesStats } = coverage
  const markets = knownMarkets()
  const shown = pageOf('page', markets.length, ROWS)
  const totals: [name: string, count: string][] = [
    ['Checkpoints', checkpoints.count],
    ['Funding period data points', `${pointsOf(coverage)}`],
    ['Liquidity providers', `${sumOf(liquidityProviders)}`],
    ['Past epochs of providers', `${sumOf(liquidityProviderHistory)}`],
    ['Funding periods', `${sumOf(fundingPeriods)}`],
    ['Funding payments', `${sumOf(fundingPayments)}`],
    ['Instruments', instruments.count],
    ['Auctions', auctions.count],
    ['Epochs', epochs.count],
    ['Fees paid by epoch', paidLiquidityFeesStats.count],
  ]
  return (
    <section class="panel" aria-labelledby="holdings-title">
      <div class="panel-head">
        <h2 id="holdings-title">Stored rows</h2>
      </div>
      <dl class="facts wide">
        {totals.map(([name, count]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{groupDigits(count)}</dd>
          </div>
        ))}
      </dl>
      <TablePlace name="Table of stored rows, by market">
        <table class="holdings stacked">
          <TableHead titles={['Market', ...TITLES]} texts={TEXTS} />
          <tbody>
            {markets.slice(shown.first, shown.first + ROWS).map((id) => {
              const points = fundingPeriodDataPoints.find(({ marketId }) => marketId === id)
              const cells = [
                groupDigits(countOf(fundingPeriods, id)),
                groupDigits(points?.count ?? '0'),
                points === undefined ? '–' : formatTime(points.firstTimestamp),
                points === undefined ? '–' : formatTime(points.lastTimestamp),
                groupDigits(countOf(liquidityProviders, id)),
                groupDigits(countOf(liquidityProviderHistory, id)),
              ]
              return (
                <tr key={id}>
                  <th scope="row">
                    <MarketName marketId={id} link={{ view: 'funding', params: { market: id } }} />
                  </th>
                  {TITLES.map((title, index) => (
                    <td key={title} data-label={title} class={TEXTS.includes(title) ? '' : 'figure-column'}>
                      {cells[index]}
                    </td>
                  ))}
                </tr>
              )
            })}
          </tbody>
        </table>
      </TablePlace>
      <Pages {...shown} what="markets" />
      <Request url={`${location.origin}/api/v2/coverage`} csv={() => holdingsCsv(coverage)} />
    </section>
  )
}

/** The columns beside the market's, and those without figures. */
const TITLES = [
  'Periods',
  'Data points',
  'First point (UTC)',
  'Last point (UTC)',
  'Providers',
  'Provider epochs',
]
const TEXTS = ['Market', 'First point (UTC)', 'Last point (UTC)']

function countOf(list: readonly { marketId: string; count: string }[], id: string): string {
  return list.find(({ marketId }) => marketId === id)?.count ?? '0'
}

function holdingsCsv({
  fundingPeriods,
  fundingPeriodDataPoints,
  liquidityProviders,
  liquidityProviderHistory,
}: Coverage): string {
  return csvOf(
    [
      'marketId',
      'fundingPeriods',
      'dataPoints',
      'firstTimestamp',
      'lastTimestamp',
      'providers',
      'providerEpochs',
    ],
    knownMarkets().map((id) => {
      const points = fundingPeriodDataPoints.find(({ marketId }) => marketId === id)
      return [
        id,
        countOf(fundingPeriods, id),
        points?.count ?? '0',
        points?.firstTimestamp,
        points?.lastTimestamp,
        countOf(liquidityProviders, id),
        countOf(liquidityProviderHistory, id),
      ]
    }),
  )
}
