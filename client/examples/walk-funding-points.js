// @ts-check
/**
 * Walks the data points of a market and sums up each source: how many, and the first and the last TWAP.
 *
 *     node client/examples/walk-funding-points.js [URL] [MARKET]
 */
import { createLyraClient } from 'lyra-client'

const [url = 'http://127.0.0.1:3008', market] = process.argv.slice(2)
const lyra = createLyraClient({ url })

const marketId = market ?? (await lyra.coverage()).fundingPeriodDataPoints[0]?.marketId
if (marketId === undefined) throw new Error('the service holds no data points')

for (const source of /** @type {const} */ (['SOURCE_EXTERNAL', 'SOURCE_INTERNAL'])) {
  let count = 0
  let first = ''
  let last = ''
  for await (const { twap } of lyra.fundingPeriodDataPoints({ marketId, source }, { newestFirst: false })) {
    count++
    if (first === '') first = twap
    last = twap
  }
  console.log(`${source}: ${count} points, TWAP ${first} at first, ${last} at last`)
}
