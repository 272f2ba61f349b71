import { Command, InvalidArgumentError, Option } from 'commander'
import { DEFAULTS, type GenerateOptions, resolveOptions } from '../generate/options.ts'
import { sendTo } from '../generate/send-to.ts'
import { writeTo } from '../generate/write-to.ts'
import { EXIT } from './exit.ts'
import { stopOnSignals } from './interrupt.ts'
import { addressLike } from './options.ts'

const NOTES = `
The same arguments produce the same bytes. For example:

  lyra generate --blocks 10000 --markets 5 > events.evts
  lyra ingest --store trial.db events.evts

With --dial it acts as a core for a service started with --listen; the blocks have current times:

  lyra generate --blocks 3600 --dial 127.0.0.1:3005`

/** `lyra generate`: a synthetic stream of any size. */
export function command(): Command {
  return new Command('generate')
    .summary('generate a synthetic event stream for trials and load tests')
    .description(
      'Writes a synthetic, valid event stream of any size to standard output, or sends it as a core would.',
    )
    .addOption(numberOption('--blocks <n>', 'number of blocks', 'LYRA_GENERATE_BLOCKS').makeOptionMandatory())
    .addOption(
      numberOption('--markets <n>', 'number of perpetual markets', 'LYRA_GENERATE_MARKETS').default(
        DEFAULTS.markets,
      ),
    )
    .addOption(
      numberOption('--parties <n>', 'number of liquidity providers', 'LYRA_GENERATE_PARTIES').default(
        DEFAULTS.parties,
      ),
    )
    .addOption(
      numberOption(
        '--points <n>',
        'new data points per block, over all markets',
        'LYRA_GENERATE_POINTS',
      ).default(null, String(DEFAULTS.points)),
    )
    .addOption(
      numberOption('--events <n>', 'records of other kinds per block', 'LYRA_GENERATE_EVENTS').default(
        DEFAULTS.events,
      ),
    )
    .addOption(
      numberOption('--seed <n>', 'seed of the random generator', 'LYRA_GENERATE_SEED').default(DEFAULTS.seed),
    )
    .addOption(
      numberOption('--start <height>', 'height of the first block', 'LYRA_GENERATE_START').default(
        DEFAULTS.start,
      ),
    )
    .addOption(
      new Option('--chain <id>', 'chain id of every event')
        .env('LYRA_GENERATE_CHAIN')
        .default(DEFAULTS.chain),
    )
    .addOption(
      new Option('--dial <address>', 'connect to this address as a core would, and send one block per second')
        .env('LYRA_GENERATE_DIAL')
        .argParser(addressLike('127.0.0.1:3005')),
    )
    .addHelpText('after', NOTES)
    .action(generate)
}

function numberOption(flags: string, description: string, variable: string): Option {
  return new Option(flags, description).env(variable).argParser((text: string) => {
    const value = Number(text)
    if (text.trim() === '' || !Number.isFinite(value)) throw new InvalidArgumentError('It must be a number.')
    return value
  })
}

type Options = GenerateOptions & { dial?: { host: string; port: number } }

async function generate({ dial, ...options }: Options): Promise<void> {
  resolveOptions(options)
  const signal = stopOnSignals()
  if (dial === undefined) await writeTo(process.stdout, options, signal)
  else await sendTo(dial, options, signal)
  if (signal.aborted) process.exitCode = EXIT.interrupted
}
