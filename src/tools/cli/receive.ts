import { Command } from 'commander'
import { isLogFault } from '#core/log/files/log-folder'
import type { LogRetention } from '#core/log/retention'
import { LogReceiver } from '#service/live/receive/receiver'
import { serveReceiverMetrics } from '#service/live/state/receiver-metrics'
import { createLogger } from '#service/log'
import { explainListenError, ListenError } from '#service/serve/listen'
import { notifyReady, notifyStopping } from '#service/service-manager'
import {
  chainOption,
  eventLogKeepOption,
  eventLogModeOption,
  eventLogOption,
  eventLogPath,
  findOldBuffer,
  listenFromOption,
} from './event-log-options.ts'
import { EXIT } from './exit.ts'
import { stopOnSignals } from './interrupt.ts'
import { addressLike, logLevelOption, setting } from './options.ts'

const NOTES = `
Stores read the event log with lyra serve --follow, and data nodes get its blocks with lyra forward. None of them, and no
restart of them, keeps this receiver from reading what the core sends: the core sends everything once.`

type ReceiveOptions = {
  listen: { host: string; port: number }
  listenFrom: string[]
  chain: string | null
  eventLog: string | null
  eventLogKeep: LogRetention | null
  eventLogMode: number | null
  metrics: { host: string; port: number } | null
  logLevel: string
}

/** `lyra receive`: writes a core's events to an event log, and nothing else. */
export function command(): Command {
  return new Command('receive')
    .description('Waits for a core to connect, and writes its events to an event log.')
    .addOption(
      setting('--listen [address]', 'wait for a core on this address')
        .default({ host: '127.0.0.1', port: 3005 }, '127.0.0.1:3005')
        .argParser(addressLike('127.0.0.1:3005')),
    )
    .addOption(listenFromOption())
    .addOption(chainOption('chain of the log, or of its first block'))
    .addOption(eventLogOption())
    .addOption(eventLogKeepOption())
    .addOption(eventLogModeOption())
    .addOption(
      setting('--metrics [address]', 'serve /metrics on this address', 'lyra_receive')
        .preset('127.0.0.1:3009')
        .default(null, 'off')
        .argParser(addressLike('127.0.0.1:3009')),
    )
    .addOption(logLevelOption())
    .addHelpText('after', NOTES)
    .action(receive)
}

async function receive(options: ReceiveOptions): Promise<void> {
  const { listen, listenFrom, chain, eventLogKeep, eventLogMode, metrics, logLevel } = options
  const { host, port } = listen
  const logger = createLogger(logLevel)
  const signal = stopOnSignals()
  const failed = Promise.withResolvers<never>()
  failed.promise.catch(() => {})
  const eventLog = eventLogPath(options.eventLog)
  const task = {
    host,
    port,
    from: listenFrom,
    chain,
    eventLog,
    keep: eventLogKeep,
    mode: eventLogMode,
    storeChain: null,
    buffer: findOldBuffer(eventLog),
    forwarder: null,
  }
  const receiver = await LogReceiver.open(task, logger, {
    onChange: () => {},
    onFailed: failed.reject,
  }).catch((error: Error) => {
    throw isLogFault(error)
      ? new ListenError(error.message)
      : explainListenError(error, host, port, '--listen')
  })
  const closeMetrics =
    metrics === null
      ? null
      : await serveReceiverMetrics(eventLog, metrics).catch(async (error: Error) => {
          await receiver.stop()
          throw explainListenError(error, metrics.host, metrics.port, '--metrics')
        })
  logger.info(`waiting for a core on ${host}:${receiver.port}`)
  notifyReady(logger)
  const stopped = new Promise<void>((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
  try {
    await Promise.race([stopped, failed.promise])
  } catch (error) {
    // It would go on taking the core's events. Whoever watches over it starts it anew.
    console.error(`lyra: the event log cannot be written any more: ${(error as Error).message}`)
    process.exit(EXIT.failure)
  }
  logger.info('stopping')
  notifyStopping()
  await receiver.stop()
  await closeMetrics?.()
}
