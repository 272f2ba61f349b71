import { join } from 'node:path'
import { type Figure, figure, median } from './figures.ts'
import { type LoadResult, measureLoad } from './load.ts'
import { type ServerProcess, startServer } from './processes.ts'

const CONSTANT_SERVER = join(import.meta.dirname, 'constant-server.ts')
const CONNECTIONS = 16

/** Starts the limit of a page: a route that answers the same bytes, with the same headers, from memory. */
export function constantServerOf(
  service: ServerProcess,
  target: string,
  encoding: string,
): Promise<ServerProcess> {
  return startServer(CONSTANT_SERVER, [`${service.base}${target}`, encoding])
}

/** Requests a second, p50 and p99 of pages as clients ask for them, beside their limit. */
export async function measurePage(service: ServerProcess, name: string, target: string): Promise<Figure[]> {
  const constant = await constantServerOf(service, target, 'identity')
  const runs: Record<'ours' | 'limit', LoadResult[]> = { ours: [], limit: [] }
  try {
    for (let round = 0; round <= 3; round++) {
      for (const [key, server, path] of [
        ['limit', constant, '/'],
        ['ours', service, target],
      ] as const) {
        const run = await measureLoad(server.base, {
          connections: CONNECTIONS,
          seconds: 2,
          nextTarget: () => path,
        })
        // The first round warms up.
        if (round > 0) runs[key].push(run)
      }
    }
  } finally {
    await constant.stop()
  }
  const of = (key: keyof typeof runs, value: 'rate' | 'p50' | 'p99') =>
    median(runs[key].map((run) => run[value]))
  return [
    figure(`${name}: rate`, of('ours', 'rate'), 'requests/s', {
      limit: { name: 'from memory', value: of('limit', 'rate') },
    }),
    ...(['p50', 'p99'] as const).map((key) =>
      figure(`${name}: ${key}`, of('ours', key), 'ms', {
        limit: { name: 'from memory', value: of('limit', key) },
      }),
    ),
  ]
}

/** The same requests to two servers, in turns: this one and a peer. */
export async function comparePeers(
  base: string,
  peer: string,
  targets: readonly string[],
): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const target of targets) {
    const runs: Record<'ours' | 'theirs', LoadResult[]> = { ours: [], theirs: [] }
    for (let round = 0; round < 3; round++) {
      for (const [key, server] of [
        ['ours', base],
        ['theirs', peer],
      ] as const) {
        runs[key].push(
          await measureLoad(server, { connections: CONNECTIONS, seconds: 3, nextTarget: () => target }),
        )
      }
    }
    for (const [key, unit] of [
      ['rate', 'requests/s'],
      ['p50', 'ms'],
      ['p99', 'ms'],
    ] as const) {
      figures.push(
        figure(`${target}: ${key}`, median(runs.ours.map((run) => run[key])), unit, {
          limit: { name: peer, value: median(runs.theirs.map((run) => run[key])) },
        }),
      )
    }
  }
  return figures
}
