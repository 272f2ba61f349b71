import { median } from './figures.ts'
import { inTurns } from './in-turns.ts'
import { type LoadResult, measureLoad, WARM_UP_SECONDS } from './load.ts'
import type { ServerProcess } from './processes.ts'

const ROUNDS = 5
/** The system tells processor time by hundredths of a second. */
const SECONDS = 1

/** What a server gives over some connections: processor time of a request in microseconds, and requests a second. */
type Measured = { micros: number; rate: number }

/** Requests to a server, which may be several processes: pages over HTTP, or what a function of its own asks. */
type Load = { server: Pick<ServerProcess, 'base' | 'processorSeconds'> } & (
  | { nextTarget: () => string }
  | { measure(options: { connections: number; seconds: number }): Promise<Answered> }
)

type Answered = Pick<LoadResult, 'requests' | 'rate'>

/** Measures several loads over so many connections in turns, each as the median of some rounds. */
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
