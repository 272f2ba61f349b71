import { encodeCursor } from '#core/resources/cursor'
import { fundingPeriodDataPoints } from '#core/resources/funding-period-data-points/description'
import { type Figure, figure, median } from '../figures.ts'
import { type LoadResult, measureLoad } from '../load.ts'
import type { ServerProcess } from '../processes.ts'
import type { ListTargets } from '../stores/large-lists.ts'
import { LARGE_MARKET, largeStoreTimes, PERIOD_SECONDS } from '../stores/large-store.ts'
import { constantServerOf } from './pages.ts'

const CONNECTIONS = 16
const SECONDS = 2

/** Until the hot code is fully compiled. */
export const WARM_UP_SECONDS = 3

const ROUNDS = 5

const POINTS = `/api/v2/funding-periods/data-points/${LARGE_MARKET}`

/** Gives requests for pages of a large store, each from another place. */
export type PageTargets = {
  /** From anywhere. */
  anywhere(first: number, filter?: string): () => string
  /** From the first or the last hundredth of the rows, newest first. */
  near(end: 'newest' | 'oldest', first: number): () => string
}

export function pageTargets(points: number): PageTargets {
  const { first: start, last } = largeStoreTimes(points)
  const seconds = Number(last - start)
  let turn = 0

  /** A cursor at a share of the way from the oldest row to the newest; the turn makes each another one. */
  function cursorAt(share: number): string {
    const second = start + BigInt(Math.floor(share * seconds))
    return encodeCursor(fundingPeriodDataPoints, { marketId: LARGE_MARKET }, [
      second * 1_000_000_000n,
      BigInt(turn++ % 1_000_000),
      2n,
    ])
  }

  return {
    anywhere:
      (first, filter = '') =>
      () =>
        `${POINTS}?pagination.first=${first}${filter}&pagination.after=${cursorAt(0.02 + 0.98 * Math.random())}`,
    near: (end, first) => () => {
      // The last page begins where exactly so many rows are left.
      const share =
        end === 'newest' ? 1 - 0.01 * Math.random() : (first + 2 + 1_000 * Math.random()) / seconds
      return `${POINTS}?pagination.first=${first}&pagination.after=${cursorAt(share)}`
    },
  }
}

/** A seq that some page's rows have, and the end of its period as a cursor would have it. */
function seqTargets(points: number): () => string {
  const periods = Math.floor(points / PERIOD_SECONDS)
  return () => `${POINTS}?pagination.first=100&seq=${1 + Math.floor(Math.random() * periods)}`
}

/** Pages requested repeatedly, beside a route that answers from memory. */
export async function measureHot(service: ServerProcess): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const first of [1, 100, 1000]) {
    const sample = `${POINTS}?pagination.first=${first}`
    for (const encoding of ['identity', 'gzip'] as const) {
      const constant = await constantServerOf(service, sample, encoding)
      try {
        const [memory, hot] = await inTurns(encoding, [
          [constant, () => '/'],
          [service, () => sample],
        ])
        figures.push(
          figure(`hot pages, first=${first}, ${encoding}`, hot!, 'requests/s', {
            limit: { name: 'from memory', value: memory! },
            target: { least: first === 1 ? 0.75 : 0.85 },
          }),
        )
      } finally {
        await constant.stop()
      }
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
    const constant = await constantServerOf(service, nextTarget(), 'identity')
    try {
      const [memory, cold] = await inTurns('identity', [
        [constant, () => '/'],
        [service, nextTarget],
      ])
      figures.push(
        figure(`cold pages of ${name}`, cold!, 'requests/s', {
          limit: { name: 'from memory', value: memory! },
          target: { least },
        }),
      )
    } finally {
      await constant.stop()
    }
  }
  return figures
}

/** The end of a long list beside its beginning, and pages of rare rows beside pages of all. */
export async function measureDepthAndFilters(
  service: ServerProcess,
  targets: PageTargets,
  points: number,
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
    seqTargets(points),
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
async function inTurns(
  encoding: string,
  loads: readonly (readonly [ServerProcess, () => string])[],
): Promise<number[]> {
  const runs: LoadResult[][] = loads.map(() => [])
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [index, [server, nextTarget]] of loads.entries()) {
      const run = await measureLoad(server.base, {
        connections: CONNECTIONS,
        seconds: round === 0 ? WARM_UP_SECONDS : SECONDS,
        nextTarget,
        headers: { 'Accept-Encoding': encoding },
      })
      if (run.failures > 0) throw new Error(`${nextTarget()}: ${run.failures} answers were no 200`)
      // The first round warms up.
      if (round > 0) runs[index]!.push(run)
    }
  }
  return runs.map((rounds) => median(rounds.map(({ rate }) => rate)))
}

/** Microseconds of one request after another on one connection: the median of some rounds in turns. */
async function timesInTurns(service: ServerProcess, loads: readonly (() => string)[]): Promise<number[]> {
  const times: number[][] = loads.map(() => [])
  for (let round = 0; round <= 2 * ROUNDS; round++) {
    for (const [index, nextTarget] of loads.entries()) {
      const run = await measureLoad(service.base, { connections: 1, seconds: 1, nextTarget })
      if (run.failures > 0) throw new Error(`${nextTarget()}: ${run.failures} answers were no 200`)
      if (round > 0) times[index]!.push(run.p50 * 1_000)
    }
  }
  return times.map(median)
}
