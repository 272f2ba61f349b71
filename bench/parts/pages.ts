import { join } from 'node:path'
import { type Figure, figure, median } from '../figures.ts'
import { inTurns } from '../in-turns.ts'
import { measureLoad, WARM_UP_SECONDS } from '../load.ts'
import { type ServerProcess, startServer } from '../processes.ts'
import type { ListTargets } from '../stores/large-lists.ts'
import { type PageTargets, POINTS_PATH } from './page-targets.ts'

const CONSTANT_SERVER = join(import.meta.dirname, '../peers/constant-server.ts')

const CONNECTIONS = 16
const SECONDS = 2
const ROUNDS = 5

/** Starts the server that is a page's limit: a route that answers the same bytes, with the same headers, from memory. */
function constantServerOf(service: ServerProcess, target: string, encoding: string): Promise<ServerProcess> {
  return startServer(CONSTANT_SERVER, [`${service.base}${target}`, encoding])
}

/** Requests that a server gets. */
export type Requests = { base: string; nextTarget: () => string }

/** Requests a second, p50 and p99 of the same page, beside those of another server, its limit. */
export async function besideServer(
  name: string,
  ours: Requests,
  limit: Requests & { name: string },
): Promise<Figure[]> {
  const load =
    ({ base, nextTarget }: Requests) =>
    () =>
      measureLoad(base, { connections: CONNECTIONS, seconds: SECONDS, nextTarget })
  const [own, others] = await inTurns(ROUNDS, [load(ours), load(limit)])
  return (
    [
      ['rate', 'requests/s'],
      ['p50', 'ms'],
      ['p99', 'ms'],
    ] as const
  ).map(([key, unit]) =>
    figure(`${name}: ${key}`, median(own!.map((run) => run[key])), unit, {
      limit: { name: limit.name, value: median(others!.map((run) => run[key])) },
    }),
  )
}

/** A page beside its limit. */
export async function measurePage(service: ServerProcess, name: string, target: string): Promise<Figure[]> {
  await using constant = await constantServerOf(service, target, 'identity')
  return await besideServer(
    name,
    { base: service.base, nextTarget: () => target },
    { name: 'from memory', base: constant.base, nextTarget: () => '/' },
  )
}

/** Pages requested repeatedly, beside a route that answers from memory. */
export async function measureHot(service: ServerProcess): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const first of [1, 100, 1000]) {
    const target = `${POINTS_PATH}?pagination.first=${first}`
    for (const encoding of ['identity', 'gzip'] as const) {
      await using constant = await constantServerOf(service, target, encoding)
      const [memory, hot] = await ratesInTurns(encoding, [
        [constant, () => '/'],
        [service, () => target],
      ])
      figures.push(
        figure(`hot pages, first=${first}, ${encoding}`, hot!, 'requests/s', {
          limit: { name: 'from memory', value: memory! },
          target: { least: first === 1 ? 0.75 : 0.85 },
        }),
      )
    }
  }
  return figures
}

/** A kind of cold pages: targets that never repeat, and the required ratio to the constant route. */
export type ColdPages = { name: string; nextTarget: () => string; least: number }

/** Cold pages of points. */
export const coldPoints = (targets: PageTargets): ColdPages[] => [
  { name: '100 points', nextTarget: targets.anywhere(100), least: 0.25 },
  { name: '1,000 points', nextTarget: targets.anywhere(1000), least: 0.15 },
]

/** Cold pages of the other lists. */
export const coldLists = (targets: ListTargets): ColdPages[] => [
  { name: '100 checkpoints', nextTarget: targets.checkpoints(100), least: 0.16 },
  { name: '20 providers', nextTarget: targets.providers(20), least: 0.21 },
  { name: '100 providers', nextTarget: targets.providers(100), least: 0.14 },
]

/** Pages requested for the first time, compared with a route that answers one from memory. */
export async function measureCold(service: ServerProcess, pages: readonly ColdPages[]): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const { name, nextTarget, least } of pages) {
    await using constant = await constantServerOf(service, nextTarget(), 'identity')
    const [memory, cold] = await ratesInTurns('identity', [
      [constant, () => '/'],
      [service, nextTarget],
    ])
    figures.push(
      figure(`cold pages of ${name}`, cold!, 'requests/s', {
        limit: { name: 'from memory', value: memory! },
        target: { least },
      }),
    )
  }
  return figures
}

/** The end of a long list beside its beginning, and pages of rare rows beside pages of all. */
export async function measureDepthAndFilters(
  service: ServerProcess,
  targets: PageTargets,
): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const first of [100, 1000]) {
    const [newest, oldest] = await timesInTurns(service, [
      targets.near('newest', first),
      targets.near('oldest', first),
    ])
    figures.push(
      figure(`the last pages of the list, first=${first}`, oldest!, 'us', {
        limit: { name: 'the first pages', value: newest! },
        target: { most: 1.5 },
      }),
    )
  }
  const [all, external, seq] = await timesInTurns(service, [
    targets.anywhere(100),
    targets.anywhere(100, '&source=SOURCE_EXTERNAL'),
    targets.ofPeriod(),
  ])
  for (const [name, value] of [
    ['a source that one row in 300 has', external!],
    ['a seq that one row in 1,000 has', seq!],
  ] as const) {
    figures.push(
      figure(`100 rows of ${name}`, value, 'us', {
        limit: { name: '100 rows of all', value: all! },
        target: { most: 2 },
      }),
    )
  }
  return figures
}

/** Requests a second of several loads, each the median of some rounds in turns. */
async function ratesInTurns(
  encoding: string,
  loads: readonly (readonly [ServerProcess, () => string])[],
): Promise<number[]> {
  const rates = await inTurns(
    ROUNDS,
    loads.map(([{ base }, nextTarget]) => async (isWarmUp) => {
      const seconds = isWarmUp ? WARM_UP_SECONDS : SECONDS
      const headers = { 'Accept-Encoding': encoding }
      return (await measureLoad(base, { connections: CONNECTIONS, seconds, nextTarget, headers })).rate
    }),
  )
  return rates.map(median)
}

/** Microseconds of one request after another on one connection: the median of some rounds in turns. */
async function timesInTurns({ base }: ServerProcess, loads: readonly (() => string)[]): Promise<number[]> {
  const times = await inTurns(
    2 * ROUNDS,
    loads.map((nextTarget) => async () => {
      const { p50 } = await measureLoad(base, { connections: 1, seconds: 1, nextTarget })
      return p50 * 1_000
    }),
  )
  return times.map(median)
}
