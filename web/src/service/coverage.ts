import { signal } from '@preact/signals'
import type { Coverage, Readiness } from 'lyra-client'
import { recoveries } from './connection.ts'
import { watcher } from './lyra.ts'

const POLL_MS = 3_000

/** Answers that are kept to compute rates: ten minutes. */
const KEPT_SAMPLES = 200

/** A coverage, and when it was received (milliseconds). */
export type CoverageSample = { coverage: Coverage; at: number }

/** The latest answers, oldest first. */
export const coverageSamples = signal<readonly CoverageSample[]>([])

/** Why the last question had no answer; null if it had. */
export const coverageError = signal<Error | null>(null)

/** Whether the service serves current data, as it last said; null before it has. */
export const readiness = signal<Readiness | null>(null)

/** The last reported coverage; null before the first. */
export function latestCoverage(): Coverage | null {
  return coverageSamples.value.at(-1)?.coverage ?? null
}

/** The height of the last block. */
export function lastHeight({ blocks }: Coverage): string {
  const ends = [...blocks.ranges, ...blocks.gaps, ...blocks.imported].map(({ to }) => BigInt(to))
  return ends.reduce((highest, end) => (end > highest ? end : highest), 0n).toString()
}

/** The height of the first block that is held; 0 if none is. */
export function firstHeight({ blocks }: Coverage): bigint {
  const starts = [blocks.ranges[0], blocks.imported[0]].flatMap((range) =>
    range === undefined ? [] : [BigInt(range.from)],
  )
  return starts.length === 0 ? 0n : starts.reduce((least, start) => (start < least ? start : least))
}

/** Asks for the coverage, and whether the service is ready. */
export async function pollCoverage(): Promise<void> {
  if (document.hidden && coverageSamples.peek().length > 0) return
  const ready = watcher.ready().then(
    (answer) => {
      readiness.value = answer
    },
    () => {},
  )
  try {
    const coverage = await watcher.coverage()
    await ready
    coverageSamples.value = [...coverageSamples.peek().slice(1 - KEPT_SAMPLES), { coverage, at: Date.now() }]
    coverageError.value = null
  } catch (error) {
    await ready
    coverageError.value = error as Error
  }
}

/** Keeps the coverage up to date, as long as the page is seen. */
export function watchCoverage(): void {
  const run = async () => {
    await pollCoverage()
    setTimeout(run, POLL_MS)
  }
  void run()
  document.addEventListener('visibilitychange', () => void pollCoverage())
  recoveries.subscribe((count) => {
    if (count > 0) void pollCoverage()
  })
}
