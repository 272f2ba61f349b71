import { Command, CommanderError } from 'commander'
import { PlainError, UsageError } from '#core/domain/plain-error'
import { printable } from '#core/domain/printable'
import { commit, PROGRAM_VERSION } from '#service/version'
import { EXIT } from './exit.ts'
import { endAtOutputFault } from './output.ts'

/** Every command of the program, by name. Only the one that is called is loaded, because each loads many modules. */
const COMMANDS: Record<string, () => Promise<{ command(): Command }>> = {
  ingest: () => import('./ingest.ts'),
  import: () => import('./import.ts'),
  serve: () => import('./serve.ts'),
  receive: () => import('./receive.ts'),
  forward: () => import('./forward.ts'),
  log: () => import('./log.ts'),
  status: () => import('./status.ts'),
  check: () => import('./check.ts'),
  verify: () => import('./verify.ts'),
  compare: () => import('./compare.ts'),
  prune: () => import('./prune.ts'),
  gap: () => import('./gap.ts'),
  backup: () => import('./backup.ts'),
  migrate: () => import('./migrate.ts'),
  copy: () => import('./copy.ts'),
  export: () => import('./export.ts'),
  statement: () => import('./statement.ts'),
  generate: () => import('./generate.ts'),
}

/** The commands of the program: the named one, or all of them if there is none with that name. */
export function loadCommands(name?: string): Promise<Command[]> {
  const named = Object.keys(COMMANDS).filter((command) => command === name)
  const loaded = named.length > 0 ? named : Object.keys(COMMANDS)
  return Promise.all(loaded.map(async (name) => (await COMMANDS[name]!()).command()))
}

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
    if (args[0] !== '--version')
      for (const command of await loadCommands(args[0])) program.addCommand(command)
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
