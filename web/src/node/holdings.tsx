import type { Coverage } from 'lyra-client'
import { groupDigits } from '../figures/format-figure.ts'
import { formatTime } from '../figures/format-time.ts'
import { Id } from '../parts/id.tsx'
import { knownMarkets } from '../parts/market-picker.tsx'
import { Request } from '../parts/request.tsx'
import { TablePlace } from '../parts/table-place.tsx'
import { pointsOf } from './rates.ts'

/** What is held of each resource. */
export function Holdings({ coverage }: { coverage: Coverage }) {
  const { checkpoints, fundingPeriodDataPoints, liquidityProviders } = coverage
  const providers = liquidityProviders.reduce((sum, { count }) => sum + BigInt(count), 0n)
  return (
    <section class="panel" aria-labelledby="holdings-title">
      <div class="panel-head">
        <h2 id="holdings-title">Rows held</h2>
      </div>
      <Request url={`${location.origin}/api/v2/coverage`} />
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
          <dd>{groupDigits(providers.toString())}</dd>
        </div>
      </dl>
      <TablePlace name="Table of rows held, by market">
        <table class="holdings">
          <thead>
            <tr>
              <th scope="col">Market</th>
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
                    <Id id={id} what="the market id" link={{ view: 'funding', params: { market: id } }} />
                  </th>
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
