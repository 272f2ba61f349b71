// @ts-check
/**
 * Lists the liquidity providers of a market by their share, with how much of the epoch they were on the book.
 *
 *     node client/examples/check-providers.js [URL] [MARKET]
 */
import { createLyraClient, LyraApiError } from 'lyra-client'

const [url = 'http://127.0.0.1:3008', market] = process.argv.slice(2)
const lyra = createLyraClient({ url })

const ready = await lyra.ready()
if (ready.status === 'not ready') {
  console.log(`Not current: ${ready.reasons.map(({ message }) => message).join('; ')}`)
}
const marketId = market ?? (await lyra.coverage()).liquidityProviders[0]?.marketId
if (marketId === undefined) throw new Error('the service holds no providers')

try {
  const { rows, blockHeight } = await lyra.liquidityProvidersPage({ marketId }, { first: 5000 })
  console.log(`Providers of ${marketId} at block ${blockHeight}:`)
  for (const { node } of rows) {
    const onBook = node.sla === null ? 'no SLA' : `on book ${node.sla.currentEpochFractionOfTimeOnBook}`
    console.log(`${node.partyId}: share ${node.feeShare.equityLikeShare}, ${onBook}`)
  }
} catch (error) {
  if (!(error instanceof LyraApiError)) throw error
  console.error(`${error.message} (request ${error.requestId})`)
  process.exitCode = 1
}
