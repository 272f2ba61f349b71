import type { IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { emptyStore, invalidParameter } from '../http/errors.ts'
import { sendJson } from '../http/send-json.ts'
import type { Turns } from '../http/turns.ts'
import type { MadeReport } from './make-page.ts'

export type ReportTurns = {
  turns: Turns
  /** The address that a request counts for. */
  addressOf: (request: IncomingMessage) => string
}

/** Makes a report in the turn of whoever asks, and sends it; throws where the store holds no block, or refuses the request. */
export async function sendReport(
  request: FastifyRequest,
  reply: FastifyReply,
  { turns, addressOf }: ReportTurns,
  make: () => Promise<MadeReport | null>,
): Promise<FastifyReply> {
  await turns(
    async () => {
      if (request.raw.socket.destroyed) return reply.hijack()
      const made = await make()
      if (made === null) throw emptyStore()
      const { body, position, refusal, release } = made
      if (refusal !== undefined) throw invalidParameter(refusal)
      reply.header('x-block-height', position.height).header('x-block-timestamp', position.timestamp)
      const sent = await sendJson(request, reply, body)
      if (release === undefined) return
      if (sent?.body === body) reply.raw.once('close', release)
      else release()
    },
    addressOf(request.raw),
    request.raw.socket,
  )
  return reply
}
