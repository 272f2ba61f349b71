import { once } from 'node:events'
import { type ClientHttp2Session, connect } from 'node:http2'
import { HEALTH, loadProtos, methodsOf, TRADING_DATA } from '../src/api/protos.ts'
import { type Figure, figure, median } from './figures.ts'
import { measureLoad } from './load.ts'
import { serveStore } from './processes.ts'

const CONNECTIONS = 16
const SECONDS = 2
const ROUNDS = 3

/**
 * Hot pages over gRPC beside the same ones over REST, and beside the least that the library answers: a call of health,
 * whose answer is two bytes.
 */
export async function measureGrpc(store: string, marketId: string): Promise<Figure[]> {
  const port = 20_000 + (process.pid % 10_000)
  const service = await serveStore(store, ['--grpc', `127.0.0.1:${port}`])
  const protos = loadProtos()
  const check = methodsOf(protos, HEALTH).Check!
  const list = methodsOf(protos, TRADING_DATA).ListFundingPeriodDataPoints!
  try {
    const figures: Figure[] = []
    for (const first of [1, 100]) {
      const calls = {
        ours: { path: list.path, message: list.requestSerialize({ marketId, pagination: { first } }) },
        least: { path: check.path, message: check.requestSerialize({}) },
      }
      const target = `/api/v2/funding-periods/data-points/${marketId}?pagination.first=${first}`
      const rates = { ours: [] as number[], least: [] as number[], rest: [] as number[] }
      for (let round = 0; round <= ROUNDS; round++) {
        const now = {
          ours: await callRate(port, calls.ours),
          least: await callRate(port, calls.least),
          rest: (
            await measureLoad(service.base, {
              connections: CONNECTIONS,
              seconds: SECONDS,
              nextTarget: () => target,
            })
          ).rate,
        }
        // The first round warms up.
        if (round > 0) for (const name of ['ours', 'least', 'rest'] as const) rates[name].push(now[name])
      }
      const value = median(rates.ours)
      const limits = { 'an empty call': median(rates.least), REST: median(rates.rest) }
      for (const [name, limit] of Object.entries(limits)) {
        figures.push(
          figure(`gRPC: hot pages, first=${first}, beside ${name}`, value, 'calls/s', {
            limit: { name, value: limit },
          }),
        )
      }
    }
    return figures
  } finally {
    await service.stop()
  }
}

/** Calls a second, one at a time on each of some connections. */
async function callRate(port: number, call: { path: string; message: Buffer }): Promise<number> {
  const sessions = Array.from({ length: CONNECTIONS }, () => connect(`http://127.0.0.1:${port}`))
  await Promise.all(sessions.map((session) => once(session, 'connect')))
  const until = performance.now() + SECONDS * 1000
  const counts = await Promise.all(
    sessions.map(async (session) => {
      let count = 0
      for (; performance.now() < until; count++) await callOnce(session, call)
      session.close()
      return count
    }),
  )
  return counts.reduce((sum, count) => sum + count, 0) / SECONDS
}

async function callOnce(
  session: ClientHttp2Session,
  { path, message }: { path: string; message: Buffer },
): Promise<void> {
  const stream = session.request({
    ...{ ':method': 'POST', ':path': path },
    ...{ 'content-type': 'application/grpc', te: 'trailers' },
  })
  const frame = Buffer.alloc(5)
  frame.writeUInt32BE(message.length, 1)
  stream.end(Buffer.concat([frame, message]))
  stream.resume()
  await once(stream, 'close')
}
