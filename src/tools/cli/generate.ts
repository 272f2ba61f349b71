import { Command, InvalidArgumentError, type Option } from 'commander'
import { findEventFiles } from '#core/records/event-paths'
import { createLogger } from '#service/log'
import { generateBlocks } from '../generate/generate.ts'
import {
  checkInteger,
  DEFAULTS,
  GenerateOptionError,
  type GenerateOptions,
  resolveOptions,
} from '../generate/options.ts'
import { replay } from '../generate/replay.ts'
import { sendTo } from '../generate/send-to.ts'
import { writeTo } from '../generate/write-to.ts'
import { EXIT } from './exit.ts'
import { stopOnSignals } from './interrupt.ts'
import { addressLike, setting } from './options.ts'

const NOTES = `
Give --blocks, or --replay with --dial. The same arguments produce the same bytes. For example:

  lyra generate --blocks 10000 --markets 5 > events.evts
  lyra ingest --store trial.db events.evts

With --dial it acts as a core for a service started with --listen; the blocks have current times:

  lyra generate --blocks 3600 --dial 127.0.0.1:3005

It can also send the blocks of a recording, here a quarter of an hour of it each second:

  lyra generate --replay events.evts.gz --speed 900 --dial 127.0.0.1:3005

Here it restarts like a core after 25, 50 and 75 blocks, and is upgraded after block 60:

  lyra generate --blocks 100 --restart-every 25 --upgrade 60 --dial 127.0.0.1:3005`

/** How many seconds after the requested time the first block may be. */
const MOST_AHEAD_SECONDS = 3

/** `lyra generate`: a synthetic stream of any size. */
export function command(): Command {
  return new Command('generate')
    .description(
      'Writes a synthetic, valid event stream of any size to standard output, or sends it as a core would.',
    )
    .addOption(numberOption('--blocks <n>', 'number of blocks'))
    .addOption(numberOption('--markets <n>', 'number of perpetual markets').default(DEFAULTS.markets))
    .addOption(numberOption('--parties <n>', 'number of liquidity providers').default(DEFAULTS.parties))
    .addOption(
      numberOption('--points <n>', 'new data points per block, over all markets').default(
        null,
        String(DEFAULTS.points),
      ),
    )
    .addOption(
      numberOption('--events <n>', 'records of other kinds per block, besides those of large blocks').default(
        DEFAULTS.events,
      ),
    )
    .addOption(numberOption('--seed <n>', 'seed of the random generator').default(DEFAULTS.seed))
    .addOption(
      numberOption(
        '--start <height>',
        'height of the first block; of a recording, the blocks below it are sent at once',
      ).default(DEFAULTS.start),
    )
    .addOption(setting('--chain <id>', 'chain id of every event', 'lyra generate').default(DEFAULTS.chain))
    .addOption(
      setting(
        '--dial <address>',
        'connect to this address as a core would, and send one block per second',
        'lyra generate',
      ).argParser(addressLike('127.0.0.1:3005')),
    )
    .addOption(
      numberOption(
        '--restart-every <n>',
        'with --dial, restart whenever n blocks were sent: connect anew, repeat the state outside blocks, and the blocks since a snapshot',
      ),
    )
    .addOption(
      numberOption(
        '--upgrade <height>',
        'with --dial, a protocol upgrade after this block: wait until the service is ready for it, then restart',
      ),
    )
    .addOption(
      setting(
        '--replay <file>',
        'with --dial, send the blocks of this event file, as far apart as their times',
        'lyra generate',
      ).conflicts(['blocks', 'markets', 'parties', 'points', 'events', 'seed', 'chain']),
    )
    .addOption(
      numberOption('--speed <n>', "with --replay, seconds of the recording's time that pass in a second"),
    )
    .addHelpText('after', NOTES)
    .action(generate)
}

function numberOption(flags: string, description: string): Option {
  return setting(flags, description, 'lyra generate').argParser((text: string) => {
    const value = Number(text)
    if (text.trim() === '' || !Number.isFinite(value)) throw new InvalidArgumentError('It must be a number.')
    return value
  })
}

type Options = Omit<GenerateOptions, 'blocks'> & {
  start: number
  blocks?: number
  dial?: { host: string; port: number }
  replay?: string
  speed?: number
  restartEvery?: number
  upgrade?: number
}

async function generate({
  dial,
  replay: recording,
  speed,
  restartEvery,
  upgrade,
  blocks,
  ...options
}: Options): Promise<void> {
  if (speed !== undefined && !(speed > 0 && speed <= 1_000_000))
    throw new GenerateOptionError(`--speed must be more than 0 and at most 1000000, not ${speed}`)
  checkRestarts({ dial, restartEvery, upgrade })
  const core = { start: options.start, restartEvery, upgrade, report: writeLine }
  const signal = stopOnSignals()
  if (recording !== undefined) {
    if (dial === undefined) throw new GenerateOptionError('--replay sends a recording: it needs --dial')
    const { files } = findEventFiles([recording])
    const logger = createLogger('warn')
    await sendTo(dial, { ...core, speed: speed ?? 1 }, signal, (send) =>
      replay(files, { logger, signal, send }),
    )
  } else {
    if (speed !== undefined)
      throw new GenerateOptionError('--speed is that of a recording: it needs --replay')
    if (blocks === undefined) throw new GenerateOptionError('--blocks or --replay is missing')
    const resolved = resolveOptions({ ...options, blocks })
    if (upgrade !== undefined && blocks < 2)
      throw new GenerateOptionError('--upgrade needs a block after it: give --blocks 2 or more')
    if (upgrade !== undefined) checkInteger('upgrade', upgrade, resolved.start, resolved.start + blocks - 2)
    if (dial === undefined) await writeTo(process.stdout, resolved, signal)
    else {
      const now = Math.floor(Date.now() / 1000) - MOST_AHEAD_SECONDS
      await sendTo(dial, { ...core, speed: 1 }, signal, async (send) => {
        for (const block of generateBlocks(resolved, now)) {
          if (signal.aborted) return
          await send(block)
        }
      })
    }
  }
  if (signal.aborted) process.exitCode = EXIT.interrupted
}

/**
 * Checks the options for restarts and upgrades.
 *
 * @throws {GenerateOptionError} for a value that is out of range, and without `--dial`.
 */
function checkRestarts({
  dial,
  restartEvery,
  upgrade,
}: {
  dial: Options['dial'] | undefined
  restartEvery: number | undefined
  upgrade: number | undefined
}): void {
  if (restartEvery !== undefined) checkInteger('restart-every', restartEvery, 1, 1_000_000_000)
  if (upgrade !== undefined) checkInteger('upgrade', upgrade, 1, 1_000_000_000)
  if (dial !== undefined) return
  if (restartEvery !== undefined)
    throw new GenerateOptionError('--restart-every restarts the connection of a core: it needs --dial')
  if (upgrade !== undefined)
    throw new GenerateOptionError("--upgrade waits for a service's answer: it needs --dial")
}

function writeLine(line: string): void {
  process.stderr.write(`${line}\n`)
}
