// @ts-check
/**
 * Prints the data points of a market as they come, and resumes after the last one when it is started again: its cursor
 * is kept in a file. Ends after a number of points, or with Ctrl-C.
 *
 *     node client/examples/follow-funding-points.js [URL] [MARKET] [CURSOR_FILE] [COUNT]
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createLyraClient } from 'lyra-client'

const [url = 'http://127.0.0.1:3008', market, file = 'lyra-cursor.txt', count = 'Infinity'] =
  process.argv.slice(2)
const lyra = createLyraClient({ url })

const marketId = market ?? (await lyra.coverage()).fundingPeriodDataPoints[0]?.marketId
if (marketId === undefined) throw new Error('the service holds no data points')

const stop = new AbortController()
process.once('SIGINT', () => stop.abort())

// The first time from the beginning: block 0 is before every block.
const start = existsSync(file) ? { after: readFileSync(file, 'utf8') } : { afterBlock: '0' }
let left = Number(count)
for await (const { row, cursor } of lyra.streamFundingPeriodDataPoints(
  { marketId },
  { ...start, signal: stop.signal },
)) {
  const time = new Date(Number(BigInt(row.timestamp) / 1_000_000n)).toISOString()
  console.log(`${time} ${row.dataPointType} price ${row.price}, TWAP ${row.twap}`)
  // Only once the row has been dealt with: a program that is killed in between gets it again.
  writeFileSync(file, cursor)
  if (--left <= 0) break
}
