import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import { Client } from 'pg'
import { KEPT } from '#core/resources/kept'
import { RESOURCES } from '#core/resources/resources'
import { parsePostgresAddress } from '#core/store/postgres/address'
import { POSTGRES_SCHEMA } from '#core/store/postgres/schema'
import { madeBy } from '#core/store/schema-version'
import { SQLITE_SCHEMA } from '#core/store/sqlite/schema'
import { type ColumnType, TABLES, type Table, tableOf } from '#core/store/tables'
import { openStore, STORE_KINDS } from './fixtures/stores.ts'

/**
 * Tables that contain no network data and are not copied: the last changes, the identity of the file, the schema,
 * and on a cluster the unpublished rows.
 */
const OF_THE_STORE: Record<string, readonly string[]> = {
  sqlite: ['changes', 'store_file'],
  postgres: ['changes', 'schema_version'],
  citus: ['changes', 'schema_version', 'unpublished'],
}

/** A table of a database: its columns in any order, the key in its own order. */
type Found = { columns: Record<string, string>; key: string[] }

function sqliteTables(path: string): Record<string, Found> {
  const database = new DatabaseSync(path, { readOnly: true })
  try {
    const names = database.prepare("select name from sqlite_schema where type = 'table'").all()
    return Object.fromEntries(
      names.map(({ name }) => {
        const columns = database.prepare('select name, type, pk from pragma_table_info(?)').all(name!)
        const key = columns.filter(({ pk }) => pk !== 0).sort((a, b) => Number(a.pk) - Number(b.pk))
        return [
          String(name),
          {
            columns: Object.fromEntries(columns.map((column) => [column.name, String(column.type)])),
            key: key.map((column) => String(column.name)),
          },
        ]
      }),
    )
  } finally {
    database.close()
  }
}

async function postgresTables(store: string): Promise<Record<string, Found>> {
  const { config, schema } = parsePostgresAddress(store)
  const client = new Client({ ...config, options: `-c search_path=${schema}` })
  await client.connect()
  try {
    const { rows } = await client.query<{ name: string; columns: Record<string, string>; key: string[] }>(
      `select relname as name,
         (select json_object_agg(attname, format_type(atttypid, null)) from pg_attribute
          where attrelid = pg_class.oid and attnum > 0 and not attisdropped) as columns,
         array(select attname::text from pg_index
               cross join unnest((indkey::int2[])[0:indnkeyatts - 1]) with ordinality as part (number, place)
               join pg_attribute on attrelid = indrelid and attnum = part.number
               where indrelid = pg_class.oid and indisprimary order by place) as key
       from pg_class where relnamespace = $1::regnamespace and relkind in ('r', 'p')`,
      [schema],
    )
    return Object.fromEntries(rows.map(({ name, ...found }) => [name, found]))
  } finally {
    await client.end()
  }
}

const readTables = (kind: string, store: string) =>
  kind === 'sqlite' ? Promise.resolve(sqliteTables(store)) : postgresTables(store)

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

/** The differences between the tables of a store and their descriptions in store/tables.ts. */
function differences(kind: string, tables: readonly Table[], found: Record<string, Found>): string[] {
  const told: string[] = []
  const known = new Set([...tables.map(({ name }) => name), ...OF_THE_STORE[kind]!])
  for (const name of Object.keys(found)) if (!known.has(name)) told.push(`${name} is not described`)
  for (const name of known) if (found[name] === undefined) told.push(`${name} is missing`)
  for (const { name, columns, keyLength } of tables) {
    const table = found[name]
    if (table === undefined) continue
    for (const column of columns) {
      const type = table.columns[column.name]
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
  describe(`the tables of a store (${kind.name})`, () => {
    test('match their descriptions, with columns, types and keys', async (t) => {
      const store = kind.create(t)
      await openStore(store).migrate()
      assert.deepEqual(differences(kind.name, TABLES, await readTables(kind.name, store)), [])
    })
  })
}

for (const [engine, schema] of Object.entries({ sqlite: SQLITE_SCHEMA, postgres: POSTGRES_SCHEMA })) {
  test(`a step of the schema of ${engine} creates each kept table`, () => {
    for (const { tables } of KEPT)
      for (const table of tables) assert.doesNotThrow(() => madeBy(schema, table))
    assert.equal(madeBy(schema, tableOf('market_data')), schema.oldest + 1)
  })
}

test('the tables of all resources are described', () => {
  for (const { storage } of RESOURCES) {
    for (const name of storage.madeOf ?? [storage.table]) assert.doesNotThrow(() => tableOf(name))
    if (storage.from === undefined) {
      const names = tableOf(storage.table).columns.map((column) => column.name)
      for (const { name } of storage.columns) assert.ok(names.includes(name), `${storage.table}.${name}`)
    }
    if (storage.span !== undefined) tableOf(storage.span.table)
    if (storage.arrivals === 'block spans') assert.equal(storage.table, 'funding_period_data_points')
  }
})
