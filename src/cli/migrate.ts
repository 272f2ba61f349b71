import { Command } from 'commander'
import { createLogger } from '../log.ts'
import { findStore } from '../store/open-store.ts'
import { type Store, StoreError } from '../store/store.ts'
import { EXIT } from './exit.ts'
import { type CommonOptions, flagOption, logLevelOption, storeOption } from './options.ts'

const NOTES = `
lyra serve and lyra ingest do this themselves if their user may create tables; other commands, but lyra backup, refuse an
older schema. If the service's own user may not, run it beforehand as a user who may. Back up first: an older program
refuses a newer schema.

Exit status of --check: 0 nothing would change, 3 the schema would change.`

type MigrateCommandOptions = CommonOptions & { citus: boolean; check: boolean }

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
    .addOption(
      flagOption(
        '--check',
        'say whether the schema would change, and change nothing',
        'LYRA_CHECK',
      ).conflicts('citus'),
    )
    .addOption(logLevelOption())
    .addHelpText('after', NOTES)
    .action(async ({ store: name, citus, check, logLevel }: MigrateCommandOptions) => {
      const store = findStore(name)
      if (check) return checkSchema(store)
      if (citus && store.distribute === undefined)
        throw new StoreError(
          `${store.name}: a SQLite file cannot be spread over machines; --citus is for PostgreSQL`,
        )
      const log = createLogger(logLevel)
      await store.migrate((message) => log.info(message))
      if (citus) await store.distribute!()
      console.log(`${store.name}: the schema is up to date${citus ? ', its tables are distributed' : ''}`)
    })
}

/** Says whether a store's schema is older than the program's; there may be no store yet. */
async function checkSchema(store: Store): Promise<void> {
  if ((await store.schemaVersion()) === 0) {
    console.log(`${store.name}: holds no store yet`)
    return
  }
  const { schemaVersion, programSchemaVersion } = await store.inspect()
  if (schemaVersion === programSchemaVersion) {
    console.log(`${store.name}: the schema is up to date`)
    return
  }
  console.log(
    `${store.name}: the schema is version ${schemaVersion}, and lyra migrate would bring it to ${programSchemaVersion}`,
  )
  process.exitCode = EXIT.gap
}
