import type { FastifyReply } from 'fastify'

/** Names a request header that the answer depends on, beside those named already. */
export function addVary(reply: FastifyReply, name: string): void {
  const known = reply.getHeader('vary') as string | undefined
  if (known === undefined) reply.header('vary', name)
  else if (!known.split(', ').includes(name)) reply.header('vary', `${known}, ${name}`)
}
