import { join } from 'node:path'
import { type Figure, figure, median } from './figures.ts'
import { type LoadResult, measureLoad } from './load.ts'
import { type ServerProcess, startServer } from './processes.ts'

const CONSTANT_SERVER = join(import.meta.dirname, 'constant-server.ts')
const CONNECTIONS = 16

/** A page to measure. */
export type PageLoad = {
  name: string
  /** The request whose answer the constant route gives. */
  sample: string
  /** The requests to send; the sample again and again by default. */
  nextTarget?: () => string
  gzip?: boolean
  target?: Figure['target']
}

/** Requests a second of a page, beside a route that answers the same bytes from memory, in turns. */
export async function measurePage(
  service: ServerProcess,
  page: PageLoad,
  seconds = 3,
  rounds = 3,
): Promise<Figure[]> {
  const encoding = page.gzip ? 'gzip' : 'identity'
  const constant = await startServer(CONSTANT_SERVER, [`${service.base}${page.sample}`, encoding])
  const headers = { 'Accept-Encoding': encoding }
  const ours: LoadResult[] = []
  const limits: LoadResult[] = []
  try {
    for (let round = 0; round < rounds; round++) {
      limits.push(
        await measureLoad(constant.base, {
          connections: CONNECTIONS,
          seconds,
          nextTarget: () => '/',
          headers,
        }),
      )
      ours.push(
        await measureLoad(service.base, {
          connections: CONNECTIONS,
          seconds,
          nextTarget: page.nextTarget ?? (() => page.sample),
          headers,
        }),
      )
    }
  } finally {
    await constant.stop()
  }
  const failures = ours.reduce((sum, run) => sum + run.failures, 0)
  if (failures > 0) throw new Error(`${page.name}: ${failures} answers were no 200`)
  const of = (runs: LoadResult[], key: 'rate' | 'p50' | 'p99') => median(runs.map((run) => run[key]))
  return [
    figure(`${page.name}: rate`, of(ours, 'rate'), 'requests/s', {
      limit: { name: 'from memory', value: of(limits, 'rate') },
      ...(page.target === undefined ? {} : { target: page.target }),
    }),
    ...(['p50', 'p99'] as const).map((key) =>
      figure(`${page.name}: ${key}`, of(ours, key), 'ms', {
        limit: { name: 'from memory', value: of(limits, key) },
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
