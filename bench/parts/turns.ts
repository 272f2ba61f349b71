import { join } from 'node:path'
import { type Figure, figure, median } from '../figures.ts'
import { type LoadResult, measureLoad } from '../load.ts'
import { type ServerProcess, serveStore, startServer } from '../processes.ts'
import { WORK } from '../stores/files.ts'
import { LARGE_MARKET, largeStore, largeStoreTimes } from '../stores/large-store.ts'
import { pageTargets, WARM_UP_SECONDS } from './table-of-pages.ts'

const POINTS = 2_000_000
const ROUNDS = 7
/** Long, because the system tells processor time by hundredths of a second. */
const SECONDS = 2

const BARE_SERVER = join(import.meta.dirname, '../peers/bare-server.ts')
const PLAIN_SERVER = join(import.meta.dirname, '../peers/plain-server.ts')

/** What a server gives over some connections: processor time of a request in microseconds, and requests a second. */
type Measured = { micros: number; rate: number }

/** Requests to a server, which may be several processes: pages over HTTP, or what a function of its own asks. */
type Load = { server: Pick<ServerProcess, 'base' | 'processorSeconds'> } & (
  | { nextTarget: () => string }
  | { measure(options: { connections: number; seconds: number }): Promise<Answered> }
)

type Answered = Pick<LoadResult, 'requests' | 'rate' | 'failures'>

/**
 * Pages from memory beside bare node:http, and pages that one client reads one after another beside a plain server: by
 * processor time of the servers, in turns.
 */
export async function measureTurns(): Promise<Figure[]> {
  const store = await largeStore(POINTS)
  const service = await serveStore(store)
  try {
    return [
      ...(await hotFigures(service, 1, 16, 1.25)),
      ...(await hotFigures(service, 100, 16, 1.15)),
      ...(await hotFigures(service, 1, 1, 1.5)),
      ...(await sequentialFigures(service, store)),
    ]
  } finally {
    await service.stop()
  }
}

async function hotFigures(
  service: ServerProcess,
  first: number,
  connections: number,
  most: number,
): Promise<Figure[]> {
  const target = `/api/v2/funding-periods/data-points/${LARGE_MARKET}?pagination.first=${first}`
  const bare = await startServer(BARE_SERVER, [service.base + target])
  try {
    const [ours, limit] = await loadsInTurns(connections, [
      { server: service, nextTarget: () => target },
      { server: bare, nextTarget: () => target },
    ])
    const name = `processor time of a hot page, first=${first}, ${connectionsOf(connections)}`
    const options = { limit: { name: 'bare node:http', value: limit!.micros }, target: { most } }
    return [figure(name, ours!.micros, 'us', options)]
  } finally {
    await bare.stop()
  }
}

async function sequentialFigures(service: ServerProcess, store: string): Promise<Figure[]> {
  const plain = await startServer(PLAIN_SERVER, [store, join(WORK, `plain-${POINTS}.db`)])
  const name = 'a plain server'
  const figures: Figure[] = []
  try {
    for (const first of [20, 100]) {
      const [ours, peer] = await loadsInTurns(1, [
        { server: service, nextTarget: pageTargets(POINTS).anywhere(first) },
        { server: plain, nextTarget: plainTargets(POINTS, first) },
      ])
      const what = `cold pages one after another, first=${first}`
      figures.push(
        figure(what, ours!.rate, 'requests/s', { limit: { name, value: peer!.rate }, target: { least: 1 } }),
        figure(`processor time of ${what}`, ours!.micros, 'us', {
          limit: { name, value: peer!.micros },
          target: { most: 1 },
        }),
      )
    }
  } finally {
    await plain.stop()
  }
  return figures
}

/** Requests to a plain server for pages from anywhere in a large store. */
export function plainTargets(points: number, first: number): () => string {
  const { first: start, last } = largeStoreTimes(points)
  const seconds = Number(last - start)
  return () => {
    const second = start + BigInt(Math.floor((0.02 + 0.98 * Math.random()) * seconds))
    return `/points/${LARGE_MARKET}?pagination.first=${first}&pagination.after=${second}000000000.0.2`
  }
}

const connectionsOf = (count: number) => (count === 1 ? 'one connection' : `${count} connections`)

/** Measures several loads, each the median of some rounds in turns. */
export async function loadsInTurns(connections: number, loads: readonly Load[]): Promise<Measured[]> {
  const rounds: Measured[][] = loads.map(() => [])
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [index, load] of loads.entries()) {
      const { server } = load
      const before = server.processorSeconds()
      const options = { connections, seconds: round === 0 ? WARM_UP_SECONDS : SECONDS }
      const { requests, rate, failures } =
        'measure' in load
          ? await load.measure(options)
          : await measureLoad(server.base, { ...options, nextTarget: load.nextTarget })
      if (failures > 0) throw new Error(`${server.base}: ${failures} of ${requests} answers were failures`)
      const micros = ((server.processorSeconds() - before) * 1e6) / requests
      // The first round warms up.
      if (round > 0) rounds[index]!.push({ micros, rate })
    }
  }
  return rounds.map((measured) => ({
    micros: median(measured.map(({ micros }) => micros)),
    rate: median(measured.map(({ rate }) => rate)),
  }))
}
