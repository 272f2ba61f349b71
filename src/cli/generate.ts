import { Command, InvalidArgumentError, Option } from 'commander'
import { type GenerateOptions, resolveOptions } from '../generate/options.ts'
import { sendTo } from '../generate/send-to.ts'
import { writeTo } from '../generate/write-to.ts'
import { EXIT } from './exit.ts'
import { stopOnSignals } from './interrupt.ts'
import { addressLike } from './options.ts'

const NOTES = `
The same arguments give the same bytes. For example:

  lyra generate --blocks 10000 --markets 5 > events.evts
  lyra ingest --store trial.db events.evts

With --dial it plays the core, for a service that was started with --listen, and dates its blocks now:

  lyra generate --blocks 3600 --dial 127.0.0.1:3005`

/** `lyra generate`: a synthetic stream of any size. */
export function generateCommand(): Command {
  return new Command('generate')
    .summary('write a synthetic event stream, for trying out and load tests')
    .description(
      'Writes a synthetic, valid event stream of any size to standard output, or sends it as a core does.',
    )
    .addOption(
      numberOption('--blocks <n>', 'blocks to generate', 'LYRA_GENERATE_BLOCKS').makeOptionMandatory(),
    )
    .addOption(numberOption('--markets <n>', 'perpetual markets (default: 3)', 'LYRA_GENERATE_MARKETS'))
    .addOption(numberOption('--parties <n>', 'liquidity providers (default: 20)', 'LYRA_GENERATE_PARTIES'))
    .addOption(
      numberOption(
        '--points <n>',
        'new data points a block, over all markets (default: 2)',
        'LYRA_GENERATE_POINTS',
      ),
    )
    .addOption(
      numberOption('--events <n>', 'records of other kinds a block (default: 5)', 'LYRA_GENERATE_EVENTS'),
    )
    .addOption(numberOption('--seed <n>', 'chooses all that is random (default: 1)', 'LYRA_GENERATE_SEED'))
    .addOption(
      numberOption('--start <height>', 'height of the first block (default: 1)', 'LYRA_GENERATE_START'),
    )
    .addOption(
      new Option('--chain <id>', 'chain id of every event (default: "lyra-generated")').env(
        'LYRA_GENERATE_CHAIN',
      ),
    )
    .addOption(
      new Option('--dial <address>', 'dial in there as a core does, and send a block a second')
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
