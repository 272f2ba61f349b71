import { join } from 'node:path'
import { type Figure, figure, median } from '../figures.ts'
import { inTurns } from '../in-turns.ts'
import { type LoadResult, measureLoad, WARM_UP_SECONDS } from '../load.ts'
import { type ServerProcess, serveStore, startServer } from '../processes.ts'
import { WORK } from '../stores/files.ts'
import { largeStore } from '../stores/large-store.ts'
import { POINTS_PATH, pageTargets, plainTargets } from './page-targets.ts'

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

type Answered = Pick<LoadResult, 'requests' | 'rate'>

/**
 * Pages from memory beside bare node:http, and pages that one client reads one after another beside a plain server: by
 * processor time of the servers, in turns.
 */
export async function measureTurns(): Promise<Figure[]> {
  const store = await largeStore(POINTS)
  await using service = await serveStore(store)
  return [
    await hotFigure(service, { first: 1, connections: 16, most: 1.25 }),
    await hotFigure(service, { first: 100, connections: 16, most: 1.15 }),
    await hotFigure(service, { first: 1, connections: 1, most: 1.5 }),
    ...(await sequentialFigures(service, store)),
  ]
}

async function hotFigure(
  service: ServerProcess,
  { first, connections, most }: { first: number; connections: number; most: number },
): Promise<Figure> {
  const target = `${POINTS_PATH}?pagination.first=${first}`
  await using bare = await startServer(BARE_SERVER, [service.base + target])
  const [ours, limit] = await loadsInTurns(connections, [
    { server: service, nextTarget: () => target },
    { server: bare, nextTarget: () => target },
  ])
  const name = `processor time of a hot page, first=${first}, ${connectionsOf(connections)}`
  const options = { limit: { name: 'bare node:http', value: limit!.micros }, target: { most } }
  return figure(name, ours!.micros, 'us', options)
}

async function sequentialFigures(service: ServerProcess, store: string): Promise<Figure[]> {
  await using plain = await startServer(PLAIN_SERVER, [store, join(WORK, `plain-${POINTS}.db`)])
  const name = 'a plain server'
  const figures: Figure[] = []
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
  return figures
}

const connectionsOf = (count: number) => (count === 1 ? 'one connection' : `${count} connections`)

/** Measures several loads, each the median of some rounds in turns. */
export async function loadsInTurns(connections: number, loads: readonly Load[]): Promise<Measured[]> {
  const results = await inTurns(
    ROUNDS,
    loads.map((load) => (isWarmUp) => {
      const seconds = isWarmUp ? WARM_UP_SECONDS : SECONDS
      return measured(load, { connections, seconds })
    }),
  )
  return results.map((rounds) => ({
    micros: median(rounds.map(({ micros }) => micros)),
    rate: median(rounds.map(({ rate }) => rate)),
  }))
}

async function measured(load: Load, options: { connections: number; seconds: number }): Promise<Measured> {
  const { server } = load
  const before = server.processorSeconds()
  const { requests, rate } =
    'measure' in load
      ? await load.measure(options)
      : await measureLoad(server.base, { ...options, nextTarget: load.nextTarget })
  return { micros: ((server.processorSeconds() - before) * 1e6) / requests, rate }
}
