import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { missingResourcesIn } from '#core/domain/coverage'
import { otherChain, StoreAwayError, StoreNewerError } from '#core/store/errors'
import { findStore } from '#core/store/open-store'
import { readCoverage } from '#core/store/queries/coverage'
import { readStore } from '#core/store/read-store'
import { createLogger } from '../log.ts'
import { notifyReady, notifyStopping } from '../service-manager.ts'
import { STOP_SIGNALS } from '../stop-signals.ts'
import { type Answering, startAnswering } from './answering.ts'
import { type IngestionMessage, startIngestion } from './ingestion.ts'
import { isReader, type ServeSettings } from './settings.ts'

/** How often a reader checks the version of its store's schema, in milliseconds. */
const SCHEMA_INTERVAL_MS = 1_000

/** A service that answers. */
export type RunningService = {
  /** Address of the service, `http://127.0.0.1:3008`. */
  url: string
  /** Resolves once the named event files have been ingested, or ingestion has failed: with whether they were. */
  ingested: Promise<boolean>
  /** Finishes answers in flight, for at most 10 s, and ends. */
  stop(): Promise<void>
}

/** Starts the service; {@link STOP_SIGNALS} stop it in order. */
export async function startService(settings: ServeSettings): Promise<RunningService> {
  const logger = createLogger(settings.logLevel)
  const parts = new StartedParts(logger)
  for (const signal of STOP_SIGNALS) process.on(signal, () => parts.onSignal(signal))

  const readsOnly = isReader(settings)
  const reports = new IngestionReports()
  const ingestion = startIngestion(settings, logger, (report) => reports.add(report))
  parts.add(ingestion)
  let answering: Answering
  try {
    // A core sends everything once: it can connect before all else.
    await ingestion.listening
    if (!readsOnly && (await migrateStore(settings, logger))) await checkChain(settings)
    answering = await startAnswering(settings, logger)
  } catch (error) {
    await parts.stop()
    throw error
  }
  parts.add(answering)
  reports.showIn(answering)
  logger.info(`serving ${(await findStore(settings.store)).name} on ${answering.url}`)
  notifyReady(logger)
  void logMissingResources(settings, logger)
  ingestion.begin()
  const endWith = (fault: string) => parts.endWith(fault)
  void ingestion.refused.then(endWith)
  if (readsOnly) void newerSchema(answering).then(endWith)
  return { url: answering.url, ingested: ingestion.ingested, stop: () => parts.stop() }
}

/** The parts of a service that run, and their end. */
class StartedParts {
  readonly #logger: Logger
  readonly #parts: { stop(): Promise<void> }[] = []
  #stopping: Promise<void> | null = null

  constructor(logger: Logger) {
    this.#logger = logger
  }

  add(part: { stop(): Promise<void> }): void {
    this.#parts.push(part)
  }

  /** Stops all parts. */
  stop(): Promise<void> {
    if (this.#stopping === null) {
      notifyStopping()
      this.#stopping = Promise.all(this.#parts.map((part) => part.stop())).then(() => {})
    }
    return this.#stopping
  }

  /** Stops all parts and ends the process; with a second signal, ends it at once. */
  onSignal(signal: NodeJS.Signals): void {
    if (this.#stopping !== null) process.exit(1)
    this.#logger.info(`${signal}: stopping`)
    void this.stop().then(() => process.exit(0))
  }

  /** Logs a fault that the service cannot go on with, stops all parts and ends the process. */
  async endWith(fault: string): Promise<void> {
    this.#logger.error(fault)
    await this.stop()
    process.exit(1)
  }
}

/** What an ingestion reports. It starts before the part that shows its reports: early ones wait for that. */
class IngestionReports {
  #early: IngestionMessage[] = []
  #answering: Pick<Answering, 'show'> | null = null

  add(report: IngestionMessage): void {
    if (this.#answering === null) this.#early.push(report)
    else this.#answering.show(report)
  }

  /** Shows the reports so far and all that follow. */
  showIn(answering: Pick<Answering, 'show'>): void {
    for (const report of this.#early.splice(0)) answering.show(report)
    this.#answering = answering
  }
}

/** Resolves with the fault once a newer program has upgraded the store, which only a program of that version may read. */
async function newerSchema({ checkSchema }: Pick<Answering, 'checkSchema'>): Promise<string> {
  for (;;) {
    await sleep(SCHEMA_INTERVAL_MS, undefined, { ref: false })
    const fault = await checkSchema().catch(({ cause }: Error) => cause)
    if (fault instanceof StoreNewerError) return fault.message
  }
}

/**
 * Creates the store, or upgrades its schema, and returns whether it could be reached. A service that waits for a core need
 * not reach it: what the core sends goes to the event log.
 */
async function migrateStore({ store, listen }: ServeSettings, logger: Logger): Promise<boolean> {
  try {
    await (await findStore(store)).migrate((message) => logger.info(message))
    return true
  } catch (error) {
    const mayWait = listen !== null && error instanceof StoreAwayError
    if (!mayWait) throw error
    logger.warn(`${(error as Error).message}; the core's events go to the event log meanwhile`)
    return false
  }
}

/** Logs the resources that are missing in the store. Logs nothing if the store cannot be read yet, which `/ready` reports. */
async function logMissingResources({ store }: ServeSettings, logger: Logger): Promise<void> {
  const coverage = await readStore(await findStore(store), readCoverage).catch(() => null)
  for (const line of missingResourcesIn(coverage)) logger.info(line)
}

/**
 * Checks that a core's events are to be of the store's chain.
 *
 * @throws {StoreError} if the settings name another chain than the store's.
 */
async function checkChain({ store: name, listen, chain }: ServeSettings): Promise<void> {
  if (listen === null || chain === null) return
  const store = await findStore(name)
  const coverage = await readStore(store, readCoverage)
  const storedChain = coverage?.chainId ?? chain
  if (storedChain !== chain) throw otherChain(store.name, chain, storedChain)
}
