import type { Logger } from 'pino'
import { createLogger } from '../log.ts'
import { findStore } from '../store/open-store.ts'
import { StoreError } from '../store/store.ts'
import { type Answering, startAnswering } from './answering.ts'
import { type IntakeNews, startIntake } from './intake.ts'
import type { ServeSettings } from './settings.ts'
import { startWorkers } from './workers.ts'

/** A service that answers. */
export type RunningService = {
  /** Where it answers, `http://127.0.0.1:3008`. */
  url: string
  /** Settles once the input named has been taken in, or failed to be; tells whether it was. */
  ingested: Promise<boolean>
  /** Answers what is in flight, at most 10 s, and ends. */
  stop(): Promise<void>
}

/** Starts the service; SIGINT and SIGTERM stop it gracefully. */
export async function startService(settings: ServeSettings): Promise<RunningService> {
  const log = createLogger(settings.logLevel)
  /** What is to be stopped, as far as it has been started. */
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
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)

  await migrate(settings, log)
  await checkChain(settings)
  const answering = await start(settings, log)
  parts.push(answering)
  log.info(`serving ${findStore(settings.store).name} on ${answering.url}`)
  const intake = startIntake(settings, log, (news: IntakeNews) => answering.hear(news))
  parts.push(intake)
  try {
    await intake.listening
  } catch (error) {
    await answering.stop()
    throw error
  }
  return { url: answering.url, ingested: intake.ingested, stop }
}

/** Makes the store, or brings its schema up to date; a service that reads from replicas answers without it. */
async function migrate({ store, readStore }: ServeSettings, log: Logger): Promise<void> {
  try {
    await findStore(store).migrate((message) => log.info(message))
  } catch (error) {
    if (readStore.length === 0) throw error
    log.warn(`${(error as Error).message}; its replicas are read meanwhile`)
  }
}

function start(settings: ServeSettings, log: Logger): Promise<Answering> {
  return settings.workers === 1 ? startAnswering(settings, log) : startWorkers(settings, log)
}

/**
 * A core's events must be of the store's chain, whatever else is named.
 *
 * @throws {StoreError} where the store is of another chain than the settings name.
 */
async function checkChain({ store: name, listen, chain }: ServeSettings): Promise<void> {
  if (listen === null || chain === null) return
  const store = findStore(name)
  const reader = await store.openReader()
  try {
    const held = (await reader.coverage())?.chainId ?? chain
    if (held === chain) return
    throw new StoreError(
      `--chain is ${JSON.stringify(chain)}, and ${store.name} holds chain ${JSON.stringify(held)}: name that chain, or another --store`,
    )
  } finally {
    await reader.close()
  }
}
