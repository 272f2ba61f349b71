// The limit of pages from memory: bare node:http, with Lyra's time limits, answers the bytes and headers of another
// server's answer.
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createHttpServer } from '#service/http/requests/http-server'

const [url] = process.argv.slice(2) as [string]
const answer = await fetch(url, { headers: { 'accept-encoding': 'identity' } })
const body = Buffer.from(await answer.arrayBuffer()).toString('latin1')
const head = [...answer.headers]
  .filter(([name]) => !['connection', 'date', 'keep-alive'].includes(name))
  .flat()

const server = createHttpServer()
server.on('request', (_, response) => response.writeHead(200, head).end(body, 'latin1'))
server.listen(0, '127.0.0.1')
await once(server, 'listening')
console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
