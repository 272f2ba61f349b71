import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { missingResourcesIn } from '#core/domain/coverage'
import { findStore } from '#core/store/open-store'
import { readCoverage } from '#core/store/queries/coverage'
import { readStore } from '#core/store/read-store'
import { otherChain, StoreAwayError, StoreNewerError } from '#core/store/store'
import { createLogger } from '../log.ts'
import { STOP_SIGNALS } from '../stop-signals.ts'
import { type Answering, startAnswering } from './answering.ts'
import { type IngestionMessage, startIngestion } from './ingestion.ts'
import { isReader, type ServeSettings } from './settings.ts'

/** How often a reader looks at the version of its store's schema, in milliseconds. */
const SCHEMA_INTERVAL_MS = 1_000

/** A service that answers. */
export type RunningService = {
  /** Address of the service, `http://127.0.0.1:3008`. */
  url: string
  /** Settles once the input named has been ingested, or has failed to be: with whether it was. */
  ingested: Promise<boolean>
  /** Finishes answers in flight, for at most 10 s, and ends. */
  stop(): Promise<void>
}

/** Starts the service; {@link STOP_SIGNALS} stop it in order. */
export async function startService(settings: ServeSettings): Promise<RunningService> {
  const log = createLogger(settings.logLevel)
  /** Started parts, to be stopped. */
  const parts: { stop(): Promise<void> }[] = []
  let stopping: Promise<void> | null = null
  const stop = () => {
    stopping ??= Promise.all(parts.map((part) => part.stop())).then(() => {})
    return stopping
  }
  const onSignal = (signal: NodeJS.Signals) => {
    if (stopping !== null) process.exit(1)
    log.info(`${signal}: stopping`)
    void stop().then(() => process.exit(0))
  }
  for (const signal of STOP_SIGNALS) process.on(signal, onSignal)

  const readsOnly = isReader(settings)
  /** Reports of the ingestion before anyone can show them. */
  const early: IngestionMessage[] = []
  let show = (report: IngestionMessage): void => void early.push(report)
  const ingestion = startIngestion(settings, log, (report) => show(report))
  parts.push(ingestion)
  let answering: Answering
  try {
    // A core sends everything once: it can connect before all else.
    await ingestion.listening
    if (!readsOnly && (await migrateStore(settings, log))) await checkChain(settings)
    answering = await startAnswering(settings, log)
  } catch (error) {
    await stop()
    throw error
  }
  parts.push(answering)
  show = answering.show
  early.forEach(show)
  log.info(`serving ${findStore(settings.store).name} on ${answering.url}`)
  void logMissingResources(settings, log)
  ingestion.begin()
  const endWith = async (message: string) => {
    log.error(message)
    await stop()
    process.exit(1)
  }
  void ingestion.refused.then(endWith)
  if (readsOnly) void newerSchema(answering).then(endWith)
  return { url: answering.url, ingested: ingestion.ingested, stop }
}

/** Resolves with the fault once a newer program has upgraded the store: the program of that version is to read it. */
async function newerSchema({ checkSchema }: Pick<Answering, 'checkSchema'>): Promise<string> {
  for (;;) {
    await sleep(SCHEMA_INTERVAL_MS, undefined, { ref: false })
    const fault = await checkSchema().catch(({ cause }: Error) => cause)
    if (fault instanceof StoreNewerError) return fault.message
  }
}

/**
 * Creates the store, or upgrades its schema, and returns whether it could be reached: a service that waits for a
 * core buffers what that sends.
 */
async function migrateStore({ store, listen }: ServeSettings, log: Logger): Promise<boolean> {
  try {
    await findStore(store).migrate((message) => log.info(message))
    return true
  } catch (error) {
    const waits = listen !== null && error instanceof StoreAwayError
    if (!waits) throw error
    log.warn(`${(error as Error).message}; the core's events are buffered meanwhile`)
    return false
  }
}

/** Logs the resources that are missing in the store; nothing if it cannot be read yet, which `/ready` reports. */
async function logMissingResources({ store }: ServeSettings, log: Logger): Promise<void> {
  const coverage = await readStore(findStore(store), readCoverage).catch(() => null)
  for (const line of missingResourcesIn(coverage)) log.info(line)
}

/**
 * A core's events must be of the store's chain, whatever else is named.
 *
 * @throws {StoreError} if the store is of another chain than the settings name.
 */
async function checkChain({ store: name, listen, chain }: ServeSettings): Promise<void> {
  if (listen === null || chain === null) return
  const store = findStore(name)
  const coverage = await readStore(store, readCoverage)
  const held = coverage?.chainId ?? chain
  if (held !== chain) throw otherChain(store.name, chain, held)
}
