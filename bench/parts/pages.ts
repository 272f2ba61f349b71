import { join } from 'node:path'
import { type Figure, figure, median } from '../figures.ts'
import { type LoadResult, measureLoad } from '../load.ts'
import { type ServerProcess, startServer } from '../processes.ts'

const CONSTANT_SERVER = join(import.meta.dirname, '../peers/constant-server.ts')
const CONNECTIONS = 16

/** Starts the server that is a page's limit: a route that answers the same bytes, with the same headers, from memory. */
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

/**
 * The same requests to two servers, in turns: this one and a peer. Each gets the requests of a target
 * repeatedly, and requests for pages anywhere in its list, which never repeat; lists too short for that are left out.
 */
export async function comparePeers(
  base: string,
  peer: string,
  targets: readonly string[],
): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const target of targets) {
    const hot = () => target
    figures.push(...(await comparePeer(`${target}, hot`, [base, hot], [peer, hot])))
    const [ours, theirs] = [await coldTargets(base, target), await coldTargets(peer, target)]
    if (ours === null || theirs === null) console.log(`${target}: too few rows for cold pages, left out`)
    else figures.push(...(await comparePeer(`${target}, cold`, [base, ours], [peer, theirs])))
  }
  return figures
}

type Asked = readonly [base: string, nextTarget: () => string]

async function comparePeer(name: string, ours: Asked, theirs: Asked): Promise<Figure[]> {
  const runs: [LoadResult[], LoadResult[]] = [[], []]
  for (let round = 0; round < 3; round++) {
    for (const [index, [base, nextTarget]] of [ours, theirs].entries()) {
      const run = await measureLoad(base, { connections: CONNECTIONS, seconds: 3, nextTarget })
      if (run.failures > 0) throw new Error(`${base}${nextTarget()}: ${run.failures} answers were no 200`)
      runs[index]!.push(run)
    }
  }
  return (
    [
      ['rate', 'requests/s'],
      ['p50', 'ms'],
      ['p99', 'ms'],
    ] as const
  ).map(([key, unit]) => {
    const [value, limit] = runs.map((results) => median(results.map((run) => run[key]))) as [number, number]
    return figure(`${name}: ${key}`, value, unit, { limit: { name: theirs[0], value: limit } })
  })
}

/** Cursors that cold pages begin after, at most. */
const MAX_CURSORS = 2_000

type ListBody = Record<string, { edges?: { cursor: string }[]; pageInfo?: { hasNextPage: boolean } }>

/**
 * Gives requests for pages of a target's list, each after a random one of its first rows that a whole page follows, and
 * each with a number that no other has; null if there is no such row.
 */
export async function coldTargets(base: string, target: string): Promise<(() => string) | null> {
  const separator = target.includes('?') ? '&' : '?'
  const after = (cursor: string) => `${target}${separator}pagination.after=${encodeURIComponent(cursor)}`
  const cursors: string[] = []
  let next: string | null = target
  let pageRows = 0
  while (next !== null && cursors.length < MAX_CURSORS) {
    const response = await fetch(`${base}${next}`)
    if (!response.ok) throw new Error(`${base}${next}: ${response.status}`)
    const { edges = [], pageInfo } = Object.values((await response.json()) as ListBody)[0] ?? {}
    pageRows = Math.max(pageRows, edges.length)
    cursors.push(...edges.map(({ cursor }) => cursor))
    next = pageInfo?.hasNextPage === true ? after(edges.at(-1)!.cursor) : null
  }
  const beforeWholePages = cursors.slice(0, -pageRows)
  if (beforeWholePages.length === 0) return null
  let turn = 0
  const anyCursor = () => beforeWholePages[Math.floor(Math.random() * beforeWholePages.length)]!
  // A parameter that both servers ignore, so that a cache does not have the answer.
  return () => `${after(anyCursor())}&turn=${turn++}`
}
