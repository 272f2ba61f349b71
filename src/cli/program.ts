import { Command, CommanderError } from 'commander'
import { printable } from '../domain/printable.ts'
import { InstrumentFileError } from '../events/instrument-nodes.ts'
import { ExportError } from '../export/export-error.ts'
import { GenerateOptionError } from '../generate/options.ts'
import { ImportError } from '../import/import-error.ts'
import { EventPathError } from '../records/event-paths.ts'
import { EventStreamError } from '../records/place.ts'
import { ListenError } from '../service/listen.ts'
import { ServiceError } from '../status/service-status.ts'
import { StoreError } from '../store/store.ts'
import { VERSION } from '../version.ts'
import { backupCommand } from './backup.ts'
import { checkCommand } from './check.ts'
import { copyCommand } from './copy.ts'
import { EXIT } from './exit.ts'
import { exportCommand } from './export.ts'
import { generateCommand } from './generate.ts'
import { importCommand } from './import.ts'
import { ingestCommand } from './ingest.ts'
import { migrateCommand } from './migrate.ts'
import { InvalidSettingError } from './options.ts'
import { pruneCommand } from './prune.ts'
import { serveCommand } from './serve.ts'
import { statusCommand } from './status.ts'
import { verifyCommand } from './verify.ts'

/** Errors whose message says all that a user needs. */
const PLAIN_ERRORS = [
  InstrumentFileError,
  EventPathError,
  EventStreamError,
  ExportError,
  ImportError,
  ListenError,
  ServiceError,
  StoreError,
]

/** Every command of the program, as it is made. */
export const COMMANDS = [
  ingestCommand,
  importCommand,
  serveCommand,
  statusCommand,
  checkCommand,
  verifyCommand,
  pruneCommand,
  backupCommand,
  migrateCommand,
  copyCommand,
  exportCommand,
  generateCommand,
]

/** Runs the program with the arguments of its command line. */
export async function runProgram(args: readonly string[]): Promise<void> {
  await reportErrors(async () => {
    const program = new Command('lyra')
      .description('Market data query service for networks of the Vega protocol.')
      .version(VERSION, '--version', 'print the version')
    for (const command of COMMANDS) program.addCommand(command())
    for (const command of [program, ...program.commands]) configure(command)
    await program.parseAsync(args, { from: 'user' })
  })
}

/** Runs one command by itself. */
export async function runCommand(command: Command, args: readonly string[]): Promise<void> {
  await reportErrors(() => configure(command).parseAsync(args, { from: 'user' }))
}

function configure(command: Command): Command {
  return command
    .exitOverride()
    .helpOption('--help', 'print this help')
    .configureOutput({ outputError: (text, write) => write(`lyra: ${inOneLine(text)}\n`) })
}

/** An error of the command line, and what may have been meant, which commander puts on a separate line. */
function inOneLine(text: string): string {
  return text
    .replace(/^error: /, '')
    .trimEnd()
    .replaceAll('\n', ' ')
}

async function reportErrors(run: () => Promise<unknown>): Promise<void> {
  try {
    await run()
  } catch (error) {
    process.exitCode = report(error)
  }
}

/** Reports what went wrong, in one line where the fault is not ours; returns the exit code. */
function report(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage
  if (error instanceof InvalidSettingError || error instanceof GenerateOptionError) {
    console.error(`lyra: ${printable(error.message)}`)
    return EXIT.usage
  }
  if (PLAIN_ERRORS.some((kind) => error instanceof kind)) {
    console.error(`lyra: ${printable((error as Error).message)}`)
    return EXIT.failure
  }
  console.error('lyra: unexpected error, please report it:', error)
  return EXIT.failure
}
