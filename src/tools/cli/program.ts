import { Command, CommanderError } from 'commander'
import { PlainError, UsageError } from '#core/domain/plain-error'
import { printable } from '#core/domain/printable'
import { commit, PROGRAM_VERSION } from '#service/version'
import { EXIT } from './exit.ts'
import { endAtOutputFault } from './output.ts'

type NamedCommand = {
  /** What it does, in the list of all commands. */
  summary: string
  load: () => Promise<{ command(): Command }>
}

/** Every command of the program, by name. Only the one that is called is loaded, because each loads many modules. */
const COMMANDS: Readonly<Record<string, NamedCommand>> = {
  ingest: { summary: 'ingest event files into a store', load: () => import('./ingest.ts') },
  import: { summary: 'import history from a Vega data node', load: () => import('./import.ts') },
  serve: { summary: 'serve the REST API from a store', load: () => import('./serve.ts') },
  receive: { summary: "write a core's events to an event log", load: () => import('./receive.ts') },
  forward: { summary: 'send the blocks of an event log to a data node', load: () => import('./forward.ts') },
  log: { summary: 'look after an event log', load: () => import('./log.ts') },
  status: {
    summary: 'show the state of a store, running service or event log',
    load: () => import('./status.ts'),
  },
  check: { summary: 'check a store, optionally against event files', load: () => import('./check.ts') },
  verify: {
    summary: 'recompute every TWAP and funding payment, from event files or a store',
    load: () => import('./verify.ts'),
  },
  compare: {
    summary: 'compare two stores or running services, row by row',
    load: () => import('./compare.ts'),
  },
  prune: { summary: 'delete old rows from a store', load: () => import('./prune.ts') },
  gap: { summary: 'do without blocks that are missing', load: () => import('./gap.ts') },
  backup: { summary: 'copy a store to a file while it is in use', load: () => import('./backup.ts') },
  migrate: { summary: 'create a store, or upgrade its schema', load: () => import('./migrate.ts') },
  copy: { summary: 'copy a store to another file or database', load: () => import('./copy.ts') },
  export: {
    summary: 'export the rows of a resource as ndjson, csv or Parquet',
    load: () => import('./export.ts'),
  },
  statement: { summary: "write a party's statement for an accountant", load: () => import('./statement.ts') },
  generate: {
    summary: 'generate a synthetic event stream for trials and load tests',
    load: () => import('./generate.ts'),
  },
}

/** Loads a command, with its arguments and options. */
const loadCommand = async ({ summary, load }: NamedCommand): Promise<Command> =>
  (await load()).command().summary(summary)

/** Loads all commands of the program. */
export const loadCommands = (): Promise<Command[]> => Promise.all(Object.values(COMMANDS).map(loadCommand))

/** All commands of the program, for the list of them: only with their names and summaries. */
const listCommands = (): Command[] =>
  Object.entries(COMMANDS).map(([name, { summary }]) => new Command(name).summary(summary))

/** Runs the program with the arguments of its command line. */
export async function runProgram(args: readonly string[]): Promise<void> {
  await reportErrors(async () => {
    const program = new Command('lyra')
      .description('Serves funding, liquidity and checkpoint data of a Vega network.')
      .version(
        args.includes('--version') ? describeVersion() : PROGRAM_VERSION,
        '--version',
        'print the version',
      )
    // `lyra help status` is `lyra status --help`.
    const [name = ''] = args[0] === 'help' ? args.slice(1) : args
    const isCommand = Object.hasOwn(COMMANDS, name)
    const commands = isCommand ? [await loadCommand(COMMANDS[name]!)] : listCommands()
    for (const command of commands) program.addCommand(command)
    configure(program)
    await program.parseAsync(args, { from: 'user' })
  })
}

/** The version, and the commit if it is known: `0.2.0 (0123456789ab)`. */
function describeVersion(): string {
  const hash = commit()
  return hash === null ? PROGRAM_VERSION : `${PROGRAM_VERSION} (${hash})`
}

/** Runs one command with its arguments, and sets the exit status. */
export async function runCommand(command: Command, args: readonly string[]): Promise<void> {
  await reportErrors(() => configure(command).parseAsync(args, { from: 'user' }))
}

function configure(command: Command): Command {
  for (const part of command.commands) configure(part)
  return command
    .exitOverride()
    .helpOption('--help', 'print this help')
    .configureOutput({
      outputError: (text, write) => write(`lyra: ${inOneLine(text)}${helpAfter(text, command)}\n`),
    })
}

/** Where to read more, if an error does not name a valid alternative. */
const helpAfter = (text: string, command: Command) =>
  /^error: (?:missing required argument|unknown command '[^']*'\s*$)/.test(text)
    ? `; see ${commandPath(command)} --help`
    : ''

/** `lyra gap accept` */
const commandPath = (command: Command): string =>
  command.parent === null ? command.name() : `${commandPath(command.parent)} ${command.name()}`

/** A command-line error in one line, together with the suggestion that commander writes on a separate line. */
function inOneLine(text: string): string {
  return text
    .replace(/^error: (?:command-argument value )?/, '')
    .trimEnd()
    .replaceAll('\n', ' ')
}

async function reportErrors(run: () => Promise<unknown>): Promise<void> {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', endAtOutputFault)
  try {
    await run()
  } catch (error) {
    process.exitCode = reportError(error)
  }
}

/** Reports an error; in one line, unless it is a fault of the program. Returns the exit status. */
function reportError(thrown: unknown): number {
  let error = thrown
  // Another error while closing, such as that of a file on a full disk, is a consequence of the first one.
  while (error instanceof SuppressedError) error = error.suppressed
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage
  if (error instanceof PlainError) {
    console.error(`lyra: ${printable(error.message)}`)
    return error instanceof UsageError ? EXIT.usage : EXIT.failure
  }
  console.error('lyra: unexpected error, please report it:', error)
  return EXIT.failure
}
