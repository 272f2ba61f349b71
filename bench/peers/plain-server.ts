// A peer of cold pages: what a developer writes in ten minutes for the points of a large store. Fastify, node:sqlite, a table in
// the order of the answers, JSON.stringify. Its cursors are about as long as Lyra's.
import { existsSync, renameSync, rmSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { DatabaseSync } from 'node:sqlite'
import fastify from 'fastify'
import { type PlainPoint, plainAnswer } from './plain-answer.ts'

const [store, path] = process.argv.slice(2) as [string, string]
if (!existsSync(path)) copyPoints()

/** Copies the points of a market of Lyra's to a table of its own. */
function copyPoints(): void {
  const part = `${path}.part`
  rmSync(part, { force: true })
  const copy = new DatabaseSync(part)
  copy.exec(`
    attach '${store}' as lyra;
    create table points (timestamp integer, seq integer, source integer, price text, twap text,
      primary key (timestamp, seq, source)) without rowid;
    insert into points select timestamp, seq, source, cast(price as text), cast(twap as text)
      from lyra.funding_period_data_points order by timestamp, seq, source`)
  copy.close()
  renameSync(part, path)
}

const database = new DatabaseSync(path, { readOnly: true })
const page = database.prepare(`
  select cast(timestamp as text) as time, seq, source, price, twap from points
  where (timestamp, seq, source) < (?, ?, ?) order by timestamp desc, seq desc, source desc limit ?`)
const previous = database.prepare('select 1 from points where (timestamp, seq, source) >= (?, ?, ?) limit 1')

type Query = { 'pagination.first': string; 'pagination.after': string }

const server = fastify()
server.get<{ Params: { market: string }; Querystring: Query }>('/points/:market', (request, reply) => {
  const { 'pagination.first': first, 'pagination.after': after } = request.query
  const key = after.split('.').map(BigInt) as [bigint, bigint, bigint]
  const limit = Number(first)
  const rows = page.all(...key, BigInt(limit + 1)) as PlainPoint[]
  const hasPrevious = previous.get(...key) !== undefined
  void reply.send(plainAnswer(request.params.market, rows, limit, hasPrevious))
})
await server.listen({ host: '127.0.0.1', port: 0 })
console.log(`http://127.0.0.1:${(server.server.address() as AddressInfo).port}`)
