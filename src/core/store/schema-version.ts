import type { Table } from '../model/table.ts'
import { auctionIntervalTable } from '../resources/auctions/table.ts'
import { dailySumTable } from '../resources/funding-payments/table.ts'
import { STORED } from '../resources/stored.ts'
import { upgradeSeries } from './charts/upgrade-series.ts'
import { StoreError, StoreNewerError, StoreOutdatedError } from './errors.ts'
import type { Mutation } from './queries-protocol.ts'
import type { StoreAdmin } from './store.ts'
import { upgradeAuctions } from './write/write-auctions.ts'
import { upgradeDailySums } from './write/write-daily-sums.ts'

/** The schema of an engine's stores, as the steps that create it. */
export type Schema = {
  /** The oldest version that can be upgraded, that of Lyra 0.2.0. */
  oldest: number
  /**
   * The first step creates the oldest schema in an empty store, and each further one the next version. A released step must
   * never be changed.
   */
  steps: readonly string[]
  /** The statements that create or replace the views (views/views.ts): the end of every upgrade. */
  views: readonly string[]
}

/** The version that the last step creates. */
export function newestVersion({ oldest, steps }: Schema): number {
  return oldest + steps.length - 1
}

/** The steps that are left for a store of a version, and then the views; 0 is an empty store. */
export function stepsFrom({ oldest, steps, views }: Schema, version: number): readonly string[] {
  const left = version === 0 ? steps : steps.slice(version - oldest + 1)
  return left.length === 0 ? [] : [...left, ...views]
}

/**
 * The version whose step creates a table.
 *
 * @throws {TypeError} if no step does.
 */
export function versionOfTable({ oldest, steps }: Schema, { name }: Table): number {
  const createsTable = new RegExp(`create table ${name}\\s`)
  const step = steps.findIndex((text) => createsTable.test(text))
  if (step < 0) throw new TypeError(`no step of the schema makes the table ${name}`)
  return oldest + step
}

/** Records that a store has a resource from its next block on; a store without blocks has it from the first. */
const NOTE_SINCE = 'insert into since select cast($1 as text), height + 1, timestamp from stream'

/** Matches a step that deletes the series of all points. */
const EMPTIES_SERIES = /(?:delete from|truncate) funding_period_series;/

/** Whether an upgrade from a version builds the series of all points anew, because one of its steps empties them. */
export function computesSeries({ oldest, steps }: Schema, version: number): boolean {
  return version !== 0 && version < oldest + steps.findLastIndex((step) => EMPTIES_SERIES.test(step))
}

/**
 * The last part of an upgrade from a version, after its steps: it records from which height the store has resources that
 * the version did not know, and computes auctions, daily sums and series from their events, payments and points.
 */
export function* completeUpgrade(
  schema: Schema,
  version: number,
  onNotice: (message: string) => void,
): Mutation {
  const added = STORED.filter(({ tables }) => version !== 0 && versionOfTable(schema, tables[0]!) > version)
  yield { text: NOTE_SINCE, each: added.map(({ name }) => [name]) }
  if (version !== 0 && versionOfTable(schema, auctionIntervalTable) > version) yield* upgradeAuctions()
  if (version !== 0 && versionOfTable(schema, dailySumTable) > version) yield* upgradeDailySums()
  if (computesSeries(schema, version)) yield* upgradeSeries(onNotice)
}

/**
 * Checks that this program knows a schema version.
 *
 * @param name the store's name in the error
 *
 * @throws {StoreError} for a version that this program can neither read nor upgrade.
 */
export function refuseUnknownVersion(schema: Schema, version: number, name: string): void {
  if (version !== 0 && version < schema.oldest) {
    throw new StoreError(
      `${name}: this store was written by Lyra 0.1.0; upgrade it with Lyra 0.2.0 first (lyra migrate of 0.2.0). Nothing was changed`,
    )
  }
  const newest = newestVersion(schema)
  if (version > newest) {
    throw new StoreNewerError(
      `${name}: schema version ${version} is newer than this version of Lyra supports (${newest}); upgrade Lyra`,
    )
  }
}

/**
 * Checks that a schema is not older than the program's.
 *
 * @throws {StoreOutdatedError} for a lower version; 0 is a store that does not exist yet.
 */
export function refuseOlderVersion(schema: Schema, version: number, name: string): void {
  const newest = newestVersion(schema)
  if (version === newest) return
  throw new StoreOutdatedError(
    name,
    version === 0
      ? 'contains no store; lyra migrate, lyra ingest and lyra serve --listen create one'
      : `its schema is version ${version}, this program's ${newest}; run lyra migrate`,
  )
}

/**
 * Checks that a store's schema is not older than the program's.
 *
 * @throws {StoreError} if it is.
 */
export async function refuseOldSchema(store: StoreAdmin): Promise<void> {
  const { schemaVersion, programSchemaVersion } = await store.inspect()
  if (schemaVersion !== programSchemaVersion) {
    throw new StoreError(
      `${store.name}: its schema is version ${schemaVersion}, this program's ${programSchemaVersion}; run lyra migrate first`,
    )
  }
}
