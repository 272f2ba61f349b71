// The limit of every page: a Fastify route that answers the bytes of another server's answer from memory.
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import fastify from 'fastify'

const [url, encoding] = process.argv.slice(2) as [string, string | undefined]
const answer = await fetch(url, { headers: { 'accept-encoding': encoding ?? 'identity' } })
// fetch inflates a body; the encoded bytes are made again.
const plain = Buffer.from(await answer.arrayBuffer())
const body = answer.headers.get('content-encoding') === 'gzip' ? gzipSync(plain, { level: 1 }) : plain
const headers = Object.fromEntries(
  [...answer.headers].filter(
    ([name]) => !['connection', 'content-length', 'date', 'keep-alive'].includes(name),
  ),
)

const server = fastify()
server.get('/*', (_, reply) => reply.headers(headers).send(body))
await server.listen({ host: '127.0.0.1', port: 0 })
console.log(`http://127.0.0.1:${(server.server.address() as AddressInfo).port}`)
