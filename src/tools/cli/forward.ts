import { Command } from 'commander'
import { Forwarder } from '#service/live/forward/forwarder'
import { createLogger } from '#service/log'
import { notifyReady, notifyStopping } from '#service/service-manager'
import { followOption, parseSize, refuseForwardedUrls } from './event-log-options.ts'
import { stopOnSignals } from './interrupt.ts'
import { addressLike, InvalidSettingError, logLevelOption, setting } from './options.ts'

const NOTES = `
The event log remembers how far this receiver is, by its address. After an orderly end forwarding goes on there; otherwise it
sends some blocks again, since the receiver may have lost them.`

type ForwardOptions = { follow: string[]; repeat: number; logLevel: string }

/** `lyra forward`: sends the blocks of event logs to another receiver. */
export function command(): Command {
  return new Command('forward')
    .description('Sends the whole blocks of event logs to another receiver, such as a data node.')
    .argument('<address>', 'address of the receiver', addressLike('127.0.0.1:3005'))
    .addOption(followOption())
    .addOption(
      setting('--repeat <size>', 'blocks sent again at most after a lost connection', 'lyra_forward')
        .default(256 * 1024 * 1024, '256MiB')
        .argParser(parseSize),
    )
    .addOption(logLevelOption())
    .addHelpText('after', NOTES)
    .action(async ({ host, port }: { host: string; port: number }, options: ForwardOptions) => {
      const { follow, repeat, logLevel } = options
      if (follow.length === 0) throw new InvalidSettingError('name the event log with --follow')
      refuseForwardedUrls(follow)
      const logger = createLogger(logLevel)
      const task = { host, port, logs: follow, repeatBytes: repeat, logLevel }
      const forwarder = new Forwarder(task, logger, () => {})
      const signal = stopOnSignals()
      signal.addEventListener('abort', notifyStopping)
      // It listens on nothing: it dials, again and again.
      notifyReady(logger)
      await forwarder.run(signal)
    })
}
