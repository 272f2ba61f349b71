import type { Store } from '#core/store/store'
import type { IngestionState } from '../health/readiness.ts'
import type { LiveState } from '../live/state/live-state.ts'
import type { IngestionMessage } from './ingestion.ts'

/** The ingestion as its reports describe it, without what the public must not see of faults. */
export class ReportedIngestion implements IngestionState {
  failure: string | null = null
  live: LiveState | null = null
  readonly maxBehindSeconds: number | null
  readonly #store: Store
  readonly #readThreadsRun: () => boolean
  #ingestionRuns: boolean
  #haveAllRun = false

  /** @param isReader whether no thread ingests or prunes, so that none reports that it runs */
  constructor(options: {
    store: Store
    maxBehindSeconds: number | null
    isReader: boolean
    readThreadsRun: () => boolean
  }) {
    this.#store = options.store
    this.maxBehindSeconds = options.maxBehindSeconds
    this.#ingestionRuns = options.isReader
    this.#readThreadsRun = options.readThreadsRun
  }

  threadsRun(): boolean {
    const allRun = this.#ingestionRuns && this.#readThreadsRun()
    this.#haveAllRun ||= allRun
    return allRun
  }

  hasStarted(): boolean {
    return this.#haveAllRun
  }

  apply(report: IngestionMessage): void {
    if (report.type === 'live') {
      const failures = report.state.failures.map((fault) => publicFault(fault, this.#store))
      this.live = { ...report.state, failures }
    } else if (report.type === 'failed') this.failure = publicFault(report.message, this.#store)
    else if (report.type === 'running') this.#ingestionRuns = true
  }
}

/** The folders of a path, except of our documentation. */
const FOLDERS = /(?<![\w.:/-])(?!docs\/)[^\s'"(/]*\/(?:[^\s'"/]*\/)*/g

/**
 * The public part of a fault: without the database's address, users and file paths, all of which only the log names. A
 * fault of a store begins with the store's name; a database server's own message may name the rest, too.
 */
function publicFault(fault: string, { name, isEmbedded }: Store): string {
  if (!isEmbedded && fault.includes(name)) return 'the store cannot be written to; see the log'
  return fault.replaceAll(name, 'the store').replaceAll(FOLDERS, '')
}
