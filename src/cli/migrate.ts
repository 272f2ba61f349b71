import { Command } from 'commander'
import { createLogger } from '../log.ts'
import { findStore } from '../store/open-store.ts'
import { type CommonOptions, flagOption, logLevelOption, storeOption } from './options.ts'

const NOTES = `
lyra serve and lyra ingest do this themselves if their user may create tables; other commands refuse an older schema.
If the service's own user may not, run it beforehand as a user who may.`

/** `lyra migrate`: makes a store, or brings its schema up to date. */
export function migrateCommand(): Command {
  return new Command('migrate')
    .summary('make a store, or bring its schema up to date')
    .description('Makes a store, or brings its schema up to date.')
    .addOption(storeOption())
    .addOption(
      flagOption(
        '--citus',
        'spread the tables of markets over the machines of a Citus cluster',
        'LYRA_CITUS',
      ),
    )
    .addOption(logLevelOption())
    .addHelpText('after', NOTES)
    .action(async ({ store: name, citus, logLevel }: CommonOptions & { citus: boolean }) => {
      const store = findStore(name)
      const log = createLogger(logLevel)
      await store.migrate((message) => log.info(message))
      if (citus) await store.distribute()
      console.log(`${store.name}: the schema is up to date${citus ? ', its tables are distributed' : ''}`)
    })
}
