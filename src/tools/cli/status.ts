import { Command, Option } from 'commander'
import { printable, printableLines } from '#core/domain/printable'
import { findStore } from '#core/store/open-store'
import { statusOfEventLog } from '../status/event-log-status.ts'
import { statusOfService } from '../status/service-status.ts'
import { statusOfStore } from '../status/status.ts'
import { describeEventLog } from './describe-event-log.ts'
import { describeStatus } from './describe-status.ts'
import { EXIT } from './exit.ts'
import { isOfService, jsonOption, storeOption, urlOption } from './options.ts'
import { printJson } from './output.ts'

const NOTES = `
For a store, shows its size, schema and writer; for a running service, its readiness and live ingestion; for both,
stored blocks, rows and gaps; for an event log, its blocks, its receiver and its readers. Changes nothing. For a store with an older schema, shows only the versions and exits with
status 1: run lyra migrate.`

type StatusOptions = { store: string; url: string | undefined; eventLog: string | undefined; json: boolean }

/** `lyra status`: the state of a store, a service or an event log. */
export function command(): Command {
  return (
    new Command('status')
      .description('Shows the blocks, rows, gaps and state of a store, running service or event log.')
      .addOption(storeOption())
      .addOption(urlOption())
      // No variable: that of the service's log must not turn the command away from its store.
      .addOption(new Option('--event-log <folder>', 'show an event log instead of a store'))
      .addOption(jsonOption())
      .addHelpText('after', NOTES)
      .action(async (options: StatusOptions, command: Command) => {
        if (options.eventLog !== undefined) {
          const status = statusOfEventLog(options.eventLog)
          if (options.json) printJson(status)
          else console.log(printableLines(describeEventLog(status)))
          return
        }
        const report = isOfService(options, command)
          ? await statusOfService(options.url!)
          : await statusOfStore(await findStore(options.store))
        if (options.json) printJson(report)
        else console.log(printableLines(describeStatus(report)))
        const { store } = report
        if (store === null || store.schemaVersion === store.programSchemaVersion) return
        console.error(
          `lyra: ${printable(report.of)}: its schema is version ${store.schemaVersion}, this program's ${store.programSchemaVersion}; run lyra migrate`,
        )
        process.exitCode = EXIT.failure
      })
  )
}
