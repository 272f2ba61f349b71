import type { Logger } from 'pino'
import { describeDuration } from '#core/domain/duration'
import { count } from '#core/domain/words'
import type { IngestionProgress } from '#core/ingest/ingest-files'
import { formatBytes } from './figures.ts'

const BAR_INTERVAL_MS = 100
const LINE_INTERVAL_MS = 5_000
const COUNT_INTERVAL_MS = 2_000
const BAR_CELLS = 20

/** Limits how often something is shown: the calls are at least `intervalMs` milliseconds apart. */
function atMostEvery<Shown extends unknown[]>(
  intervalMs: number,
  show: (...shown: Shown) => void,
): (...shown: Shown) => void {
  let shownAt = performance.now()
  return (...shown) => {
    const now = performance.now()
    if (now - shownAt < intervalMs) return
    shownAt = now
    show(...shown)
  }
}

/** Logs the progress of a command, at most every two seconds; `describe` writes the line. */
export function progressLines<Given extends unknown[]>(
  logger: Logger,
  describe: (...given: Given) => string,
): (...given: Given) => void {
  return atMostEvery(COUNT_INTERVAL_MS, (...given: Given) => logger.info(describe(...given)))
}

/** Counts rows, and logs their number as {@link progressLines} does. */
export class RowProgress {
  #rows = 0
  readonly #show: (rows: number) => void

  constructor(logger: Logger) {
    this.#show = progressLines(logger, (rows: number) => `${count(rows)} rows`)
  }

  get rows(): number {
    return this.#rows
  }

  add(rows: number): void {
    this.#rows += rows
    this.#show(this.#rows)
  }
}

/** Progress of an ingestion or an import. `share` is the completed part, 0 to 1, if it cannot be calculated from bytes. */
type Progress = Omit<IngestionProgress, 'leftOut'> & { share?: number }

/** Shows progress; `end` clears the terminal's line. */
export type ProgressView = { show(progress: Progress): void; end(): void }

/**
 * Shows a bar on a terminal, otherwise a log line every few seconds, or JSON lines on standard output for machines.
 *
 * @param noun the name of the records
 */
export function createProgressView(logger: Logger, json: boolean, noun: string): ProgressView {
  const startedAt = performance.now()
  let hasShown = false
  const terminal = process.stderr.isTTY && !json
  const interval = terminal ? BAR_INTERVAL_MS : LINE_INTERVAL_MS
  return {
    show: atMostEvery(interval, (progress: Progress) => {
      hasShown = true
      const seconds = (performance.now() - startedAt) / 1000
      if (json) console.log(JSON.stringify({ type: 'progress', ...progressFigures(progress, seconds) }))
      else if (terminal)
        process.stderr.write(`\r\x1b[K${bar(progress)}${describeProgress(progress, seconds, noun)}`)
      else logger.info(describeProgress(progress, seconds, noun))
    }),
    end() {
      if (terminal && hasShown) process.stderr.write('\r\x1b[K')
    },
  }
}

function progressFigures(progress: Progress, seconds: number): object {
  return {
    source: progress.source,
    bytes: progress.bytesRead,
    bytesTotal: progress.bytesTotal,
    records: progress.records,
    height: progress.coverage?.height.toString() ?? null,
    timestamp: progress.coverage?.timestamp.toString() ?? null,
    ...(progress.share === undefined ? {} : { share: progress.share }),
    seconds,
  }
}

/** The completed part, 0 to 1; null if unknown. */
function shareOf({ bytesRead, bytesTotal, share }: Progress): number | null {
  if (share !== undefined || bytesTotal === null) return share ?? null
  return bytesTotal === 0 ? 1 : Math.min(1, bytesRead / bytesTotal)
}

function bar(progress: Progress): string {
  const share = shareOf(progress)
  if (share === null) return ''
  const full = Math.round(share * BAR_CELLS)
  return `[${'#'.repeat(full)}${'.'.repeat(BAR_CELLS - full)}] ${Math.floor(share * 100)} % `
}

function describeProgress(progress: Progress, seconds: number, noun: string): string {
  const { bytesRead, bytesTotal, records, coverage } = progress
  const share = shareOf(progress)
  const parts = [
    bytesTotal === null ? formatBytes(bytesRead) : `${formatBytes(bytesRead)} of ${formatBytes(bytesTotal)}`,
    `${count(Math.round(records / seconds))} ${noun}/s`,
  ]
  if (coverage !== null) {
    const time = new Date(Number(coverage.timestamp / 1_000_000n)).toISOString()
    parts.push(`block ${coverage.height} (${time.slice(0, 19)}Z)`)
  }
  if (share !== null && share > 0) parts.push(`${describeDuration((seconds * (1 - share)) / share)} left`)
  return parts.join(', ')
}
