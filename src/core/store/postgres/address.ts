import type { ClientConfig } from 'pg'
import { StoreError } from '../errors.ts'

const SCHEMA_NAME = /^[a-z_][a-z0-9_]{0,62}$/

export type PostgresAddress = {
  /** Its name for people, without a password. */
  name: string
  /** Only the database and the schema: `postgres:///markets?schema=lyra`. */
  publicName: string
  schema: string
  /** The options of every connection. */
  config: ClientConfig
}

/** Whether a store's name is an address of PostgreSQL. */
export function isPostgresAddress(name: string): boolean {
  return /^postgres(?:ql)?:\/\//i.test(name)
}

/** Parameters that anyone may see; all others may contain a secret. */
const SHOWN_PARAMETERS = [
  'application_name',
  'channel_binding',
  'connect_timeout',
  'host',
  'port',
  'schema',
  'sslmode',
  'sslrootcert',
  'target_session_attrs',
  'user',
  'uselibpqcompat',
]

/** An address as a name for people, without anything that may be secret. */
export function withoutPassword(address: URL): string {
  const url = new URL(address)
  url.password = ''
  for (const name of [...url.searchParams.keys()]) {
    if (!SHOWN_PARAMETERS.includes(name)) url.searchParams.delete(name)
  }
  return url.toString()
}

/**
 * Parses `postgres://user:password@host:port/database?schema=lyra`; other parameters are libpq's (`sslmode`, `host`, ...).
 * If the address has no password, `PGPASSWORD` and `~/.pgpass` are used.
 *
 * @throws {StoreError} for an invalid address, and for a schema that is not a plain name.
 */
export function parsePostgresAddress(text: string): PostgresAddress {
  if (!URL.canParse(text)) {
    throw new StoreError(
      'the PostgreSQL address is malformed; use postgres://user:password@host/database. In a user or password write ' +
        '@ : / ? # [ ] and % as %40 %3A %2F %3F %23 %5B %5D and %25; for a socket use postgres:///database?host=FOLDER&user=NAME',
    )
  }
  const url = new URL(text)
  const schema = url.searchParams.get('schema') ?? 'lyra'
  if (!SCHEMA_NAME.test(schema)) {
    throw new StoreError(`the schema "${schema}" is not a plain name of lower-case letters, digits and _`)
  }
  url.searchParams.delete('schema')
  const connectionString = url.toString()
  url.searchParams.set('schema', schema)
  return {
    name: withoutPassword(url),
    publicName: `postgres://${url.pathname}?schema=${schema}`,
    schema,
    config: {
      connectionString,
      application_name: 'lyra',
      connectionTimeoutMillis: 3_000,
      keepAlive: true,
      keepAliveInitialDelayMillis: 5_000,
    },
  }
}
