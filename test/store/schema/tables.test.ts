import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { ColumnType } from '#core/model/columns'
import { RESOURCES } from '#core/resources/resources'
import { STORED } from '#core/resources/stored'
import { POSTGRES_SCHEMA } from '#core/store/postgres/schema'
import { TABLES, type Table, tableOf } from '#core/store/schema/tables'
import { versionOfTable } from '#core/store/schema-version'
import { SQLITE_SCHEMA } from '#core/store/sqlite/schema'
import { type FoundTable, readSchema } from '../../fixtures/stores/read-schema.ts'
import { openStore, STORE_KINDS } from '../../fixtures/stores/stores.ts'

/**
 * Tables that contain no network data and are not copied: the last changes, the identity of the file, the schema,
 * and on a cluster the unpublished rows.
 */
const OF_THE_STORE: Record<string, readonly string[]> = {
  sqlite: ['changes', 'store_file'],
  postgres: ['changes', 'schema_version'],
  citus: ['changes', 'schema_version', 'unpublished'],
}

type TypeNames = Record<ColumnType, readonly string[]>

const POSTGRES_TYPES: TypeNames = {
  integer: ['smallint', 'integer', 'bigint'],
  text: ['text'],
  digits: ['text'],
  boolean: ['boolean'],
}

/** The databases' names of column types; on SQLite a boolean is an integer. */
const TYPES: Record<string, TypeNames> = {
  sqlite: { integer: ['INTEGER'], text: ['TEXT'], digits: ['ANY'], boolean: ['INTEGER'] },
  postgres: POSTGRES_TYPES,
  citus: POSTGRES_TYPES,
}

/** The differences between the tables of a store and their descriptions in store/schema/tables.ts. */
function differences(kind: string, tables: readonly Table[], found: Record<string, FoundTable>): string[] {
  const told: string[] = []
  const known = new Set([...tables.map(({ name }) => name), ...OF_THE_STORE[kind]!])
  for (const name of Object.keys(found)) if (!known.has(name)) told.push(`${name} is not described`)
  for (const name of known) if (found[name] === undefined) told.push(`${name} is missing`)
  for (const { name, columns, keyLength } of tables) {
    const table = found[name]
    if (table === undefined) continue
    for (const column of columns) {
      const type = table.columns[column.name]?.type
      if (type === undefined) told.push(`${name}.${column.name} is missing`)
      else if (!TYPES[kind]![column.type].includes(type)) told.push(`${name}.${column.name} is ${type}`)
    }
    for (const column of Object.keys(table.columns)) {
      if (!columns.some((one) => one.name === column)) told.push(`${name}.${column} is not described`)
    }
    const key = columns.slice(0, keyLength).map((column) => column.name)
    if (table.key.join() !== key.join()) told.push(`the key of ${name} is ${table.key.join()}`)
  }
  return told.sort()
}

for (const kind of STORE_KINDS) {
  test(`the tables of a store match their descriptions, with columns, types and keys (${kind.name})`, async (t) => {
    const store = kind.create(t)
    await openStore(store).migrate()
    assert.deepEqual(differences(kind.name, TABLES, await readSchema(store)), [])
  })
}

for (const [engine, schema] of Object.entries({ sqlite: SQLITE_SCHEMA, postgres: POSTGRES_SCHEMA })) {
  test(`a step of the schema of ${engine} creates each kept table`, () => {
    for (const { tables } of STORED)
      for (const table of tables) assert.doesNotThrow(() => versionOfTable(schema, table))
    assert.equal(versionOfTable(schema, tableOf('market_data')), schema.oldest + 1)
  })
}

test('every folder of resources is in the list of what is stored', () => {
  const folder = join(import.meta.dirname, '../../../src/core/resources')
  const list = readFileSync(join(folder, 'stored.ts'), 'utf8')
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.isDirectory())
      assert.ok(
        list.includes(`'./${entry.name}/`),
        `src/core/resources/stored.ts does not name ${entry.name}`,
      )
  }
})

test('the tables of all resources are described', () => {
  for (const { storage } of RESOURCES) {
    for (const name of storage.derivedFrom ?? [storage.table]) assert.doesNotThrow(() => tableOf(name))
    if (storage.from === undefined) {
      const names = tableOf(storage.table).columns.map((column) => column.name)
      for (const { name } of storage.columns) assert.ok(names.includes(name), `${storage.table}.${name}`)
    }
    if (storage.span !== undefined) tableOf(storage.span.table)
    if (storage.hasBlockSpans) assert.equal(storage.table, 'funding_period_data_points')
  }
})
