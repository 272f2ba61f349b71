import { join } from 'node:path'
import { type Figure, figure } from '../figures.ts'
import { loadsInTurns } from '../loads-in-turns.ts'
import { type ServerProcess, serveStore, startServer } from '../processes.ts'
import { WORK } from '../stores/files.ts'
import { largeStore } from '../stores/large-store.ts'
import { POINTS_PATH, pageTargets, plainTargets } from './page-targets.ts'

const BARE_SERVER = join(import.meta.dirname, '../peers/bare-server.ts')
const PLAIN_SERVER = join(import.meta.dirname, '../peers/plain-server.ts')

/**
 * Pages from memory beside bare node:http, and pages that one client reads one after another beside a plain server: by
 * processor time of the servers, in turns.
 */
export async function measureTurns(points: number): Promise<Figure[]> {
  const store = await largeStore(points)
  await using service = await serveStore(store)
  return [
    await hotFigure(service, { first: 1, connections: 16, most: 1.25 }),
    await hotFigure(service, { first: 100, connections: 16, most: 1.15 }),
    await hotFigure(service, { first: 1, connections: 1, most: 1.5 }),
    ...(await sequentialFigures(service, store, points)),
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

async function sequentialFigures(service: ServerProcess, store: string, points: number): Promise<Figure[]> {
  await using plain = await startServer(PLAIN_SERVER, [store, join(WORK, `plain-${points}.db`)])
  const name = 'a plain server'
  const figures: Figure[] = []
  for (const first of [20, 100]) {
    const [ours, peer] = await loadsInTurns(1, [
      { server: service, nextTarget: pageTargets(points).anywhere(first) },
      { server: plain, nextTarget: plainTargets(points, first) },
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
