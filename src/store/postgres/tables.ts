import type { Client } from 'pg'
import { EVERY_CHANGE } from '../changes.ts'
import {
  type NamedColumn,
  rangeClauses,
  type Table,
  type TableReader,
  type TableWriter,
  type TextCell,
} from '../tables.ts'
import type { PostgresAddress } from './address.ts'
import { commitEverywhere, isSpread } from './cluster.ts'
import { connect, rowsOf, writeChanges, writerConfig } from './connection.ts'
import { explainPostgresError } from './errors.ts'
import { arrayText, COLUMN_TYPES } from './run-steps.ts'

/** Reads the tables of a store in one snapshot, which lasts until it is closed. */
export async function openPostgresTableReader(address: PostgresAddress): Promise<TableReader> {
  const { read, close, client } = await openTables(address)
  await client.query('begin transaction isolation level repeatable read, read only')
  return { read, close }
}

/** Reads and writes the tables of a store. */
export async function openPostgresTableWriter(address: PostgresAddress): Promise<TableWriter> {
  const { read, close, client } = await openTables(address)
  const spread = await isSpread(client, address.schema)
  return {
    read,
    close,
    replace: async (table, range, rows) => {
      const { where, values } = rangeClauses(table, range)
      const names = table.columns.map(({ name }) => name).join(', ')
      const arrays = table.columns.map((_, index) => `$${index + 1}::text[]`).join(', ')
      const casts = table.columns.map(({ name, type }) => `${name}::${COLUMN_TYPES[type]}`).join(', ')
      try {
        await client.query('begin')
        await rowsOf(client, `delete from ${table.name} ${where}`, values)
        await rowsOf(
          client,
          `insert into ${table.name} (${names}) select ${casts} from unnest(${arrays}) as row (${names})`,
          table.columns.map((_, index) => arrayText(rows, (row) => row[index]!)),
        )
        if (spread) {
          await commitEverywhere(client)
          await client.query('begin')
        }
        await writeChanges(client, EVERY_CHANGE)
        await client.query('commit')
      } catch (error) {
        await client.query('rollback').catch(() => {})
        throw explainPostgresError(address.name, error)
      }
    },
  }
}

async function openTables(address: PostgresAddress): Promise<TableReader & { client: Client }> {
  let client: Client
  try {
    client = await connect(writerConfig(address))
  } catch (error) {
    throw explainPostgresError(address.name, error)
  }
  return {
    client,
    read: async (table, range, limit) => {
      const { where, order, values, next } = rangeClauses(table, range)
      const text = `select ${table.columns.map(asText).join(', ')} from ${table.name} ${where} ${qualified(table, order)} limit ${next}`
      try {
        return (await rowsOf(client, text, [...values, BigInt(limit)])) as TextCell[][]
      } catch (error) {
        throw explainPostgresError(address.name, error)
      }
    },
    close: async () => {
      await client.end()
    },
  }
}

function asText({ name, type }: NamedColumn): string {
  if (type === 'text' || type === 'digits') return name
  return type === 'boolean' ? `cast(cast(${name} as integer) as text)` : `cast(${name} as text)`
}

/** A bare name in `order by` would mean the output column, which is a text. */
function qualified(table: Table, order: string): string {
  return order.replaceAll(/(order by |, )(\w+)/g, `$1${table.name}.$2`)
}
