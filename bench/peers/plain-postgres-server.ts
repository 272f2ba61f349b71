// A peer of cold pages on PostgreSQL, as plain-server.ts is on SQLite: Fastify, pg with a pool and prepared statements, a table in
// the order of the answers, JSON.stringify.
import type { AddressInfo } from 'node:net'
import fastify from 'fastify'
import { Pool } from 'pg'
import { type PlainPoint, plainAnswer } from './plain-answer.ts'

const [url] = process.argv.slice(2) as [string]
const pool = new Pool({ connectionString: url })
await copyPoints()

/** Copies the points of Lyra's only market to a table of its own. */
async function copyPoints(): Promise<void> {
  await pool.query(`
    begin;
    create schema plain;
    create table plain.points (timestamp bigint, seq bigint, source smallint, price text, twap text,
      primary key (timestamp, seq, source));
    insert into plain.points select timestamp, seq, source, cast(price as text), cast(twap as text)
      from large.funding_period_data_points order by timestamp, seq, source;
    commit`)
  await pool.query('vacuum analyze plain.points')
}

const page = {
  name: 'page',
  text: `select timestamp as time, seq, source, price, twap from plain.points where (timestamp, seq, source) < ($1, $2, $3)
    order by timestamp desc, seq desc, source desc limit $4`,
}
const previous = {
  name: 'previous',
  text: 'select 1 from plain.points where (timestamp, seq, source) >= ($1, $2, $3) limit 1',
}

type Query = { 'pagination.first': string; 'pagination.after': string }

const server = fastify()
server.get<{ Params: { market: string }; Querystring: Query }>('/points/:market', async (request) => {
  const { 'pagination.first': first, 'pagination.after': after } = request.query
  const key = after.split('.')
  const limit = Number(first)
  const [{ rows }, { rows: earlier }] = await Promise.all([
    pool.query<PlainPoint>({ ...page, values: [...key, limit + 1] }),
    pool.query({ ...previous, values: key }),
  ])
  return plainAnswer(request.params.market, rows, limit, earlier.length > 0)
})
await server.listen({ host: '127.0.0.1', port: 0 })
console.log(`http://127.0.0.1:${(server.server.address() as AddressInfo).port}`)
