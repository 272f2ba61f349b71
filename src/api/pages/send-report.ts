import type { IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isKnownMarket } from '../../store/find-ids.ts'
import type { Reader } from '../../store/store.ts'
import { emptyStore, invalidParameter } from '../http/errors.ts'
import { sendJson } from '../http/send-json.ts'
import type { Turns } from '../http/turns.ts'
import { createReports, type MadeReport, type Pages, type ReportRequest } from './make-page.ts'

export type ReportOptions = {
  reader: Reader
  pages: Pages
  turns: Turns
  /** The address that a request counts for. */
  addressOf: (request: IncomingMessage) => string
}

/** Makes a report and sends it; throws where the store holds no block, or refuses the request. */
export type SendReport = (
  request: FastifyRequest,
  reply: FastifyReply,
  asked: ReportRequest,
  options?: {
    /** The market that it is of: a report of one that no row names takes next to nothing, and waits for nobody. */
    marketId?: string
    /** Makes it, unless `pages` does. */
    make?: (asked: ReportRequest) => Promise<MadeReport | null>
  },
) => Promise<FastifyReply>

/** Sends reports that are made in the turns of those who ask. */
export function createSendReport({ reader, pages, turns, addressOf }: ReportOptions): SendReport {
  const makeHere = createReports(reader)

  return async (request, reply, asked, { marketId, make = pages.report } = {}) => {
    const send = async (made: MadeReport | null): Promise<void> => {
      if (made === null) throw emptyStore()
      const { body, position, refusal, release } = made
      if (refusal !== undefined) throw invalidParameter(refusal)
      reply.header('x-block-height', position.height).header('x-block-timestamp', position.timestamp)
      const sent = await sendJson(request, reply, body)
      if (release === undefined) return
      if (sent?.body === body) reply.raw.once('close', release)
      else release()
    }
    const { socket } = request.raw
    if (marketId !== undefined && !(await reader.read(() => isKnownMarket(marketId)))) {
      await send(await makeHere(asked))
    } else {
      await turns(
        async () => (socket.destroyed ? void reply.hijack() : send(await make(asked))),
        addressOf(request.raw),
        socket,
      )
    }
    return reply
  }
}
