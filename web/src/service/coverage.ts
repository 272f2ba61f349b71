import { batch, signal } from '@preact/signals'
import type { Coverage, Readiness } from 'lyra-client'
import { recoveries } from './connection.ts'
import { watcher } from './lyra.ts'

const POLL_MS = 3_000

/** Samples from which rates are computed: those of ten minutes. */
const MOST_SAMPLES = 200

/** A service with more than 1,000 markets sends its coverage in parts. So many are read at most after the first. */
const MOST_PARTS = 20

/** How long the other parts are used: they are large, and most change little. */
const PARTS_MS = 60_000

/** The figures of a coverage from which rates are computed. */
export type CoverageSample = {
  /** When it was received, milliseconds. */
  at: number
  height: bigint
  points: bigint
}

/** The latest samples, oldest first. A coverage itself may have hundreds of kilobytes, and only the latest one is kept. */
export const coverageSamples = signal<readonly CoverageSample[]>([])

const latest = signal<{ coverage: Coverage; at: number } | null>(null)

/** Why the last question had no answer; null if it had. */
export const coverageError = signal<Error | null>(null)

/** Whether the service serves current data, as it last said; null before it has. */
export const readiness = signal<Readiness | null>(null)

/** The last reported coverage; null before the first. */
export function latestCoverage(): Coverage | null {
  return latest.value?.coverage ?? null
}

/** When the last reported coverage was received, milliseconds; null before the first. */
export function coverageTime(): number | null {
  return latest.value?.at ?? null
}

/** Takes a coverage for the latest; null forgets all. */
export function noteCoverage(coverage: Coverage | null, at: number): void {
  batch(() => {
    latest.value = coverage === null ? null : { coverage, at }
    if (coverage === null) coverageSamples.value = []
    // The rates of a part would not be those of all.
    else if (coverage.next === null) {
      coverageSamples.value = [...coverageSamples.peek().slice(1 - MOST_SAMPLES), sampleOf(coverage, at)]
    }
  })
}

function sampleOf(coverage: Coverage, at: number): CoverageSample {
  return {
    at,
    height: BigInt(lastHeight(coverage)),
    points: pointsOf(coverage),
  }
}

/** The data points of all markets. */
export function pointsOf({ fundingPeriodDataPoints }: Coverage): bigint {
  return sumOf(fundingPeriodDataPoints)
}

/** The rows of all markets. */
export function sumOf(list: readonly { count: string }[]): bigint {
  return list.reduce((sum, { count }) => sum + BigInt(count), 0n)
}

/** A coverage from its parts, in their order. */
export function joined(parts: readonly [Coverage, ...Coverage[]]): Coverage {
  const [first] = parts
  const list = <Row>(of: (part: Coverage) => readonly Row[]): Row[] => parts.flatMap(of)
  // Every part has all of `since`; the other lists go on in the next part.
  const names = Object.keys(first).filter(
    (name) => name !== 'since' && Array.isArray(first[name as keyof Coverage]),
  ) as 'fundingPeriods'[]
  return {
    ...first,
    ...Object.fromEntries(names.map((name) => [name, list((part) => part[name])])),
    blocks: {
      ...first.blocks,
      ranges: list(({ blocks }) => blocks.ranges),
      gaps: list(({ blocks }) => blocks.gaps),
      imported: list(({ blocks }) => blocks.imported),
    },
    next: parts.at(-1)!.next,
  }
}

/** The parts after the first, and when they were read. */
let rest: { parts: readonly Coverage[]; at: number } = { parts: [], at: 0 }

/** Whether the parts that were read before can follow a new first one. */
function isRestValid(first: Coverage): boolean {
  // Of more than 1,000 gaps, the last part has the last blocks.
  const hasBlocks = rest.parts.some(({ blocks }) => blocks.ranges.length > 0)
  return first.next === null || (rest.parts.length > 0 && !hasBlocks && Date.now() - rest.at < PARTS_MS)
}

async function readRest({ next }: Coverage): Promise<readonly Coverage[]> {
  const parts: Coverage[] = []
  while (next !== null && parts.length < MOST_PARTS) {
    const part: Coverage = await watcher.coverage({ after: next })
    parts.push(part)
    next = part.next
  }
  return parts
}

/** The height of the last block. */
export function lastHeight({ blocks }: Coverage): string {
  const ends = [...blocks.ranges, ...blocks.gaps, ...blocks.imported].map(({ to }) => BigInt(to))
  return ends.reduce((highest, end) => (end > highest ? end : highest), 0n).toString()
}

/** The height of the first stored block; 0 if there is none. */
export function firstHeight({ blocks }: Coverage): bigint {
  const starts = [blocks.ranges[0], blocks.imported[0]].flatMap((range) =>
    range === undefined ? [] : [BigInt(range.from)],
  )
  return starts.length === 0 ? 0n : starts.reduce((least, start) => (start < least ? start : least))
}

/** The questions that are being asked; null if none are. */
let polling: Promise<void> | null = null

/**
 * Asks for the coverage, and whether the service is ready. Callers meanwhile share these questions: of two, the older answer could
 * come last.
 */
export function pollCoverage(): Promise<void> {
  polling ??= askCoverage().finally(() => {
    polling = null
  })
  return polling
}

async function askCoverage(): Promise<void> {
  const ready = watcher.ready().then(
    (answer) => {
      readiness.value = answer
    },
    () => {},
  )
  try {
    const first = await watcher.coverage()
    await ready
    const isValid = isRestValid(first)
    // At first the page shows what the first part has.
    if (isValid || latest.peek() === null) {
      noteCoverage(joined([first, ...(first.next === null ? [] : rest.parts)]), Date.now())
    }
    if (!isValid) {
      rest = { parts: await readRest(first), at: Date.now() }
      noteCoverage(joined([first, ...rest.parts]), Date.now())
    }
    coverageError.value = null
  } catch (error) {
    await ready
    coverageError.value = error as Error
  }
}

/** Keeps the coverage up to date, as long as the page is seen. */
export function watchCoverage(): void {
  const poll = async () => {
    if (!document.hidden || latest.peek() === null) await pollCoverage()
  }
  const run = async () => {
    await poll()
    setTimeout(run, POLL_MS)
  }
  void run()
  document.addEventListener('visibilitychange', () => void poll())
  recoveries.subscribe((count) => {
    if (count > 0) void pollCoverage()
  })
}
