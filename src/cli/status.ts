import { Command, InvalidArgumentError, Option } from 'commander'
import { printable, printableLines } from '../domain/printable.ts'
import { statusOfService } from '../status/service-status.ts'
import { statusOfStore } from '../status/status.ts'
import { findStore } from '../store/open-store.ts'
import { describeStatus } from './describe-status.ts'
import { EXIT } from './exit.ts'
import { InvalidSettingError, jsonOption, storeOption } from './options.ts'

const NOTES = `
Of a store it shows its size, schema and writer; of a running service its readiness, replicas and live ingestion; of
both what they hold and lack. It changes nothing. Of a store whose schema is older than this program's it shows no more
than that, and exits 1: run lyra migrate.`

type StatusOptions = { store: string; url: string | undefined; json: boolean }

/** `lyra status`: how a store, or the service over it, stands. */
export function statusCommand(): Command {
  return new Command('status')
    .summary('show what a store or a running service holds, and lacks')
    .description('Shows what a store or a running service holds and lacks, and its state.')
    .addOption(storeOption())
    .addOption(
      new Option('--url <address>', 'ask a running service there, instead of a store')
        .env('LYRA_URL')
        .argParser(parseUrl),
    )
    .addOption(jsonOption())
    .addHelpText('after', NOTES)
    .action(async (options: StatusOptions, command: Command) => {
      const report = isOfService(options, command)
        ? await statusOfService(options.url!)
        : await statusOfStore(findStore(options.store))
      console.log(options.json ? JSON.stringify(report, null, 2) : printableLines(describeStatus(report)))
      const { store } = report
      if (store === null || store.schemaVersion === store.programSchemaVersion) return
      console.error(
        `lyra: ${printable(report.of)}: its schema is version ${store.schemaVersion}, this program's ${store.programSchemaVersion}; run lyra migrate`,
      )
      process.exitCode = EXIT.failure
    })
}

/** What the command line names goes before the environment. */
function isOfService({ url }: StatusOptions, command: Command): boolean {
  if (command.getOptionValueSource('store') !== 'cli') return url !== undefined
  if (command.getOptionValueSource('url') !== 'cli') return false
  throw new InvalidSettingError('give either --store or --url, not both')
}

function parseUrl(text: string): string {
  if (!/^https?:\/\//.test(text) || !URL.canParse(text)) {
    throw new InvalidArgumentError('It must be an address such as http://127.0.0.1:3008.')
  }
  return text
}
