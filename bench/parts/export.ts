import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { type Figure, figure, median } from '../figures.ts'
import { ROOT, runForJson, type ServerProcess } from '../processes.ts'
import { LARGE_MARKET, largeStoreTimes } from '../stores/large-store.ts'

const SECOND = 1_000_000_000n

/** Rows of an export. */
const ROWS = 5_000_000
const ROUNDS = 3

const READ_LINES = join(ROOT, 'bench/peers/read-lines.ts')

/** The range of the points of an export, from the middle of a large store on. */
function rangeOf(points: number): { from: bigint; to: bigint } {
  const { first, last } = largeStoreTimes(points)
  const from = first + (last - first) / 4n
  return { from: from * SECOND, to: (from + BigInt(Math.min(ROWS, points / 2))) * SECOND }
}

/** Begins an export of many points, in ndjson; the connection ends with it, and is to be read. */
export function openExport({ base }: Pick<ServerProcess, 'base'>, points: number): Socket {
  const { from, to } = rangeOf(points)
  const range = `dateRange.startTimestamp=${from}&dateRange.endTimestamp=${to}&pagination.newestFirst=false`
  const path = `/api/v2/funding-periods/data-points/${LARGE_MARKET}?format=ndjson&${range}`
  const { hostname, port } = new URL(base)
  const socket = connect(Number(port), hostname)
  socket.once('data', (head: Buffer) => {
    if (!head.toString('latin1').startsWith('HTTP/1.1 200 ')) socket.destroy(new Error(head.toString()))
  })
  // Read as bytes: parsing would use the processor that the client shares with the service.
  socket.write(`GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\nConnection: close\r\n\r\n`)
  return socket
}

/** An export over HTTP beside the reading of its lines from the same file, in turns. */
export async function measureExport(
  service: ServerProcess,
  store: string,
  points: number,
): Promise<Figure[]> {
  const { from, to } = rangeOf(points)
  const rates: number[] = []
  const limits: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const alone = await runForJson<{ rows: number; seconds: number }>(READ_LINES, [
      store,
      LARGE_MARKET,
      String(from),
      String(to),
    ])
    limits.push(alone.rows / alone.seconds)
    const startedAt = performance.now()
    const socket = openExport(service, points)
    socket.resume()
    await once(socket, 'close')
    rates.push((alone.rows * 1_000) / (performance.now() - startedAt))
  }
  return [
    figure('export of 5,000,000 points, ndjson', median(rates), 'rows/s', {
      limit: { name: 'the lines read and thrown away', value: median(limits) },
      target: { least: 0.8 },
    }),
  ]
}
