import { Command } from 'commander'
import { missingResourcesIn } from '#core/domain/coverage'
import { StoreError } from '#core/store/errors'
import { findStore } from '#core/store/open-store'
import { readCoverage } from '#core/store/queries/coverage'
import { readStore } from '#core/store/read-store'
import type { StoreAdmin } from '#core/store/store'
import { createLogger } from '#service/log'
import { EXIT } from './exit.ts'
import { type CommonOptions, flagOption, logLevelOption, storeOption } from './options.ts'

const NOTES = `
lyra serve, lyra ingest and lyra import do this themselves if their user may create tables; other commands except lyra
backup refuse an older schema. If the service's user may not create tables, run this first as a user who may. Back up
first: an older program refuses a newer schema.

Exit status of --check: 0 nothing would change, 3 the schema would change.`

type MigrateCommandOptions = CommonOptions & { citus: boolean; check: boolean }

/** `lyra migrate`: creates a store, or upgrades its schema. */
export function command(): Command {
  return new Command('migrate')
    .description('Creates a store, or upgrades its schema.')
    .addOption(storeOption())
    .addOption(flagOption('--citus', 'distribute the market tables over the machines of a Citus cluster'))
    .addOption(
      flagOption('--check', 'report whether the schema would change, without changing it').conflicts('citus'),
    )
    .addOption(logLevelOption())
    .addHelpText('after', NOTES)
    .action(async ({ store: name, citus, check, logLevel }: MigrateCommandOptions) => {
      const store = await findStore(name)
      if (check) return checkSchema(store)
      if (citus && store.distribute === undefined)
        throw new StoreError(
          `${store.name}: a SQLite file cannot be distributed; --citus requires PostgreSQL`,
        )
      const logger = createLogger(logLevel)
      const before = await store.schemaVersion()
      const onNotice = (message: string) => logger.info(message)
      await store.migrate(onNotice)
      if (citus) await store.distribute!(onNotice)
      console.log(`${store.name}: ${describeUpgrade(before, await store.schemaVersion())}`)
      if (citus) console.log('its tables are distributed')
      for (const line of missingResourcesIn(await readStore(store, readCoverage))) console.log(line)
    })
}

function describeUpgrade(before: number, after: number): string {
  if (before === after) return `the schema is up to date, version ${after}`
  return before === 0
    ? `created a store of schema version ${after}`
    : `upgraded the schema from version ${before} to ${after}`
}

/** Reports whether a store's schema is older than the program's. The store may not exist. */
async function checkSchema(store: StoreAdmin): Promise<void> {
  if ((await store.schemaVersion()) === 0) {
    console.log(`${store.name}: contains no store yet`)
    return
  }
  const { schemaVersion, programSchemaVersion } = await store.inspect()
  if (schemaVersion === programSchemaVersion) {
    console.log(`${store.name}: the schema is up to date`)
    return
  }
  console.log(
    `${store.name}: the schema is version ${schemaVersion}; lyra migrate would upgrade it to ${programSchemaVersion}`,
  )
  process.exitCode = EXIT.gap
}
