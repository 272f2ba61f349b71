import type { Table } from '../model/table.ts'
import { STORED } from '../resources/stored.ts'
import { upgradeSeries } from './charts/upgrade-series.ts'
import type { Mutation } from './queries-protocol.ts'
import { type StoreAdmin, StoreError, StoreNewerError, StoreOutdatedError } from './store.ts'

/** The schema of an engine's stores, as the steps that make it. */
export type Schema = {
  /** The version of the oldest schema that is opened, that of Lyra 0.2.0. */
  oldest: number
  /**
   * The first step makes the oldest schema in an empty store, each further one the next version. A step is never changed
   * once it has been released.
   */
  steps: readonly string[]
}

/** The version that the last step makes. */
export function newestVersion({ oldest, steps }: Schema): number {
  return oldest + steps.length - 1
}

/** The steps that are left for a store of a version; 0 is an empty one. */
export function stepsFrom({ oldest, steps }: Schema, version: number): readonly string[] {
  return version === 0 ? steps : steps.slice(version - oldest + 1)
}

/**
 * The version whose step makes a table.
 *
 * @throws {TypeError} if none does.
 */
export function madeBy({ oldest, steps }: Schema, { name }: Table): number {
  const made = new RegExp(`create table ${name}\\s`)
  const step = steps.findIndex((text) => made.test(text))
  if (step < 0) throw new TypeError(`no step of the schema makes the table ${name}`)
  return oldest + step
}

/** Notes that a store has a resource from its next block on; one without blocks has it from the first. */
const NOTE_SINCE = 'insert into since select cast($1 as text), height + 1, timestamp from stream'

/** How a step deletes the series of all points. */
const EMPTIES_SERIES = /(?:delete from|truncate) funding_period_series;/

/** Whether an upgrade from a version computes the series of all points anew: some step on its way empties them. */
export function computesSeries({ oldest, steps }: Schema, version: number): boolean {
  return version !== 0 && version < oldest + steps.findLastIndex((step) => EMPTIES_SERIES.test(step))
}

/**
 * What an upgrade from a version writes after its steps: from which height on there are resources that it did not know,
 * and the series.
 */
export function* completeUpgrade(
  schema: Schema,
  version: number,
  onNotice: (message: string) => void,
): Mutation {
  const added = STORED.filter(({ tables }) => version !== 0 && madeBy(schema, tables[0]!) > version)
  yield { text: NOTE_SINCE, values: added.map(({ name }) => [name]) }
  if (computesSeries(schema, version)) yield* upgradeSeries(onNotice)
}

/**
 * @param name the store's name in the error
 *
 * @throws {StoreError} for a version that this program neither reads nor upgrades.
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

/** @throws {StoreOutdatedError} for a version below the newest; 0 is a store that does not exist yet. */
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

/** @throws {StoreError} for a store whose schema is older than the program's. */
export async function refuseOldSchema(store: StoreAdmin): Promise<void> {
  const { schemaVersion, programSchemaVersion } = await store.inspect()
  if (schemaVersion !== programSchemaVersion) {
    throw new StoreError(
      `${store.name}: its schema is version ${schemaVersion}, this program's ${programSchemaVersion}; run lyra migrate first`,
    )
  }
}
