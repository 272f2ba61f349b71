import { connect } from 'node:net'
import { HEALTH, methodsOf, TRADING_DATA } from '../test/fixtures/protos.ts'
import { callFrames, callHeaders, FLAG, FRAME, frame, PREFACE } from '../test/fixtures/raw-http2.ts'
import { type Figure, figure, median } from './figures.ts'
import { measureLoad } from './load.ts'
import { serveStore } from './processes.ts'

const CONNECTIONS = 16
const SECONDS = 2
const ROUNDS = 3

const FRAME_HEAD_BYTES = 9

/** Half of the widest window of HTTP/2. */
const WIDE = [0x3f, 0xff, 0xff, 0xff]

/**
 * Hot pages over gRPC beside the same ones over REST, and beside the smallest answer: a call of health, of two
 * bytes.
 */
export async function measureGrpc(store: string, marketId: string): Promise<Figure[]> {
  const port = 20_000 + (process.pid % 10_000)
  const service = await serveStore(store, ['--grpc', `127.0.0.1:${port}`])
  const check = methodsOf(HEALTH).Check!
  const list = methodsOf(TRADING_DATA).ListFundingPeriodDataPoints!
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

/** Calls a second, one at a time on each of some connections, by a client that reads only the heads of frames. */
async function callRate(port: number, { path, message }: { path: string; message: Buffer }): Promise<number> {
  const headers = callHeaders(path)
  const until = performance.now() + SECONDS * 1000
  let count = 0
  const keepBusy = () =>
    new Promise<void>((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true })
      socket.once('error', reject).once('close', () => resolve())
      // Windows large enough for the whole test.
      socket.write(Buffer.concat([PREFACE, frame(FRAME.settings, 0, 0, Buffer.from([0, 4, ...WIDE]))]))
      socket.write(frame(FRAME.window, 0, 0, Buffer.from(WIDE)))
      let stream = 1
      const callAgain = () => {
        socket.write(callFrames(stream, headers, message))
        stream += 2
      }
      /** The received part of a frame's head, and the bytes of its payload that are still missing. */
      let part: Buffer = Buffer.alloc(0)
      let left = 0
      socket.on('data', (chunk: Buffer) => {
        const bytes = part.length === 0 ? chunk : Buffer.concat([part, chunk])
        let at = left
        for (; at + FRAME_HEAD_BYTES <= bytes.length; at += FRAME_HEAD_BYTES + bytes.readUIntBE(at, 3)) {
          const isEnd = bytes[at + 3] === FRAME.headers && (bytes[at + 4]! & FLAG.endStream) !== 0
          if (!isEnd) continue
          count++
          if (performance.now() < until) callAgain()
          else socket.destroy()
        }
        part = at < bytes.length ? bytes.subarray(at) : Buffer.alloc(0)
        left = Math.max(0, at - bytes.length)
      })
      callAgain()
    })
  await Promise.all(Array.from({ length: CONNECTIONS }, keepBusy))
  return count / SECONDS
}
