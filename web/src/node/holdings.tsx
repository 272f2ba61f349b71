import type { Coverage } from 'lyra-client'
import { groupDigits } from '../figures/format-figure.ts'
import { formatTime } from '../figures/format-time.ts'
import { csvOf } from '../parts/csv.ts'
import { MarketName } from '../parts/market-name.tsx'
import { Request } from '../parts/request.tsx'
import { TablePlace } from '../parts/table-place.tsx'
import { knownMarkets } from '../service/markets.ts'
import { pointsOf, sumOf } from './rates.ts'

/** What is held of each resource. */
export function Holdings({ coverage }: { coverage: Coverage }) {
  const { checkpoints, fundingPeriodDataPoints, fundingPeriods, liquidityProviders, instruments } = coverage
  return (
    <section class="panel" aria-labelledby="holdings-title">
      <div class="panel-head">
        <h2 id="holdings-title">Rows held</h2>
      </div>
      <Request url={`${location.origin}/api/v2/coverage`} csv={() => holdingsCsv(coverage)} />
      <dl class="facts wide">
        <div>
          <dt>Checkpoints</dt>
          <dd>{groupDigits(checkpoints.count)}</dd>
        </div>
        <div>
          <dt>Funding period data points</dt>
          <dd>{groupDigits(pointsOf(coverage).toString())}</dd>
        </div>
        <div>
          <dt>Liquidity providers</dt>
          <dd>{groupDigits(sumOf(liquidityProviders).toString())}</dd>
        </div>
        <div>
          <dt>Funding periods</dt>
          <dd>{groupDigits(sumOf(fundingPeriods).toString())}</dd>
        </div>
        <div>
          <dt>Instruments</dt>
          <dd>{groupDigits(instruments.count)}</dd>
        </div>
      </dl>
      <TablePlace name="Table of rows held, by market">
        <table class="holdings">
          <thead>
            <tr>
              <th scope="col">Market</th>
              <th scope="col" class="figure-column">
                Periods
              </th>
              <th scope="col" class="figure-column">
                Data points
              </th>
              <th scope="col" class="less">
                First
              </th>
              <th scope="col" class="less">
                Last
              </th>
              <th scope="col" class="figure-column">
                Providers
              </th>
            </tr>
          </thead>
          <tbody>
            {knownMarkets().map((id) => {
              const points = fundingPeriodDataPoints.find(({ marketId }) => marketId === id)
              return (
                <tr key={id}>
                  <th scope="row">
                    <MarketName marketId={id} link={{ view: 'funding', params: { market: id } }} />
                  </th>
                  <td class="figure-column">
                    {groupDigits(fundingPeriods.find(({ marketId }) => marketId === id)?.count ?? '0')}
                  </td>
                  <td class="figure-column">{groupDigits(points?.count ?? '0')}</td>
                  <td class="less">{points === undefined ? '–' : formatTime(points.firstTimestamp)}</td>
                  <td class="less">{points === undefined ? '–' : formatTime(points.lastTimestamp)}</td>
                  <td class="figure-column">
                    {groupDigits(liquidityProviders.find(({ marketId }) => marketId === id)?.count ?? '0')}
                  </td>
                </tr>
              )
            })}
          </tbody>
        </table>
      </TablePlace>
    </section>
  )
}

function holdingsCsv({ fundingPeriods, fundingPeriodDataPoints, liquidityProviders }: Coverage): string {
  const countOf = (list: { marketId: string; count: string }[], id: string) =>
    list.find(({ marketId }) => marketId === id)?.count ?? '0'
  return csvOf(
    ['marketId', 'fundingPeriods', 'dataPoints', 'firstTimestamp', 'lastTimestamp', 'providers'],
    knownMarkets().map((id) => {
      const points = fundingPeriodDataPoints.find(({ marketId }) => marketId === id)
      return [
        id,
        countOf(fundingPeriods, id),
        points?.count ?? '0',
        points?.firstTimestamp,
        points?.lastTimestamp,
        countOf(liquidityProviders, id),
      ]
    }),
  )
}
