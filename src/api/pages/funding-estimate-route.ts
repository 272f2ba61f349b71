import type { FastifyReply, FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import { MARKET_ID } from '../../domain/ids.ts'
import type { Reader } from '../../store/store.ts'
import { invalidMarketId, missingMarketId } from '../http/errors.ts'
import { parseQuery, queryOf } from '../http/query-string.ts'
import type { MadeReport, Pages } from './make-page.ts'
import { parameterReader } from './parameters.ts'
import { type ReportTurns, sendReport } from './send-report.ts'

/** Estimates kept: each is some hundred bytes. */
const MAX_KEPT = 1_000

export type FundingEstimateOptions = ReportTurns & { reader: Reader; pages: Pages }

/** An estimate, or its making, and the commit that it is of. */
type Kept = { commit: string; made: Promise<MadeReport | null> }

/**
 * The handler of `GET /api/v2/funding-estimates/{marketId}`: what the running period would pay if it ended at the last
 * block's second. It is made once a commit for each market, whoever asks.
 */
export function fundingEstimateHandler({ reader, pages, ...inTurn }: FundingEstimateOptions) {
  const readParameters = parameterReader([])
  const kept = new LRUCache<string, Kept>({ max: MAX_KEPT })

  async function estimate(marketId: string): Promise<MadeReport | null> {
    // Of replicas each may stand at another commit.
    const found = await reader.freshness?.(null)
    if (found === undefined) return pages.report({ fundingEstimate: marketId })
    const commit = `${found.version.version} ${found.version.mark}`
    const known = kept.get(marketId)
    if (known?.commit === commit) return known.made
    const made = pages.report({ fundingEstimate: marketId })
    kept.set(marketId, { commit, made })
    made.catch(() => kept.delete(marketId))
    return made
  }

  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    readParameters(parseQuery(queryOf(request.originalUrl)))
    const { marketId } = request.params as { marketId: string }
    if (marketId === '') throw missingMarketId()
    if (!MARKET_ID.test(marketId)) throw invalidMarketId(marketId)
    return sendReport(request, reply, inTurn, () => estimate(marketId.toLowerCase()))
  }
}
