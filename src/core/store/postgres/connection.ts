import type { Client, ClientConfig } from 'pg'
import type { Row } from '../../model/resource.ts'
import type { Cell } from '../../model/table.ts'
import { type Change, changeStatements } from '../changes.ts'
import type { PostgresAddress } from './address.ts'
import { isPassing, NOT_CONNECTED } from './errors.ts'

/** Time limit of a reader's statement, until its answer has arrived. */
const READ_TIMEOUT_MS = 5_000

/** Time limit of a writer's statement; a batch takes well below a second. */
const WRITE_TIMEOUT_MS = 120_000

/**
 * A page reads along an index, whatever the planner estimates, because it must not collect rows before it returns the
 * first. A merge join with a condition's rows would start at the first of them, however far on the page begins.
 */
const WALK_SETTINGS = {
  enable_bitmapscan: 'off',
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  enable_material: 'off',
  jit: 'off',
}

/**
 * The same few statements need not be planned each time. On a cluster they must be, because planning finds the machine of a
 * market.
 */
const PLAN_ONCE = { plan_cache_mode: 'force_generic_plan' }

/**
 * Options of a connection, and settings of its session. Settings are made by a statement, because a pooler may drop those
 * of the start.
 */
export type SessionConfig = ClientConfig & { pipeline: boolean; session: Readonly<Record<string, string>> }

/**
 * Options of readers' connections: the statements of one page are sent at once.
 *
 * @param isDistributed whether the tables are distributed over a cluster (cluster.ts)
 */
export function readerConfig({ config, schema }: PostgresAddress, isDistributed: boolean): SessionConfig {
  return {
    ...config,
    session: {
      search_path: schema,
      statement_timeout: String(READ_TIMEOUT_MS),
      default_transaction_read_only: 'on',
      ...WALK_SETTINGS,
      ...(isDistributed ? {} : PLAN_ONCE),
    },
    query_timeout: READ_TIMEOUT_MS + 2_000,
    pipeline: true,
  }
}

/**
 * Options of writers' connections: independent statements are sent at once. The server must notice within seconds if a
 * writer's machine is gone, so that another one can take over.
 */
export function writerConfig({ config, schema }: PostgresAddress): SessionConfig {
  return {
    ...config,
    session: {
      search_path: schema,
      statement_timeout: String(WRITE_TIMEOUT_MS),
      tcp_keepalives_idle: '2',
      tcp_keepalives_interval: '1',
      tcp_keepalives_count: '2',
    },
    query_timeout: WRITE_TIMEOUT_MS + 5_000,
    pipeline: true,
  }
}

/** The driver and its extensions. Loaded with the first connection, because not every store needs them. */
let driver: (typeof import('pg') & typeof import('./prepared-read.ts')) | null = null

/**
 * The driver.
 *
 * @throws if no connection has been opened yet.
 */
export function openedDriver(): NonNullable<typeof driver> {
  if (driver === null) throw new TypeError('no connection has been opened')
  return driver
}

/** Loads the driver before the first connection does. */
export async function loadDriver(): Promise<NonNullable<typeof driver>> {
  driver ??= { ...(await import('pg')), ...(await import('./prepared-read.ts')) }
  return driver
}

/**
 * Opens a connection that stays open.
 *
 * @throws if a pooler gives each transaction another session, or if the session does not keep its settings.
 */
export async function connect(config: SessionConfig): Promise<Client> {
  const client = await createClient(config)
  try {
    await refuseTransactionMode(config)
    await client.connect()
    await prepareSession(client, config.session)
  } catch (error) {
    await client.end().catch(() => {})
    if (!isPassing(error)) (error as { code?: string }).code ??= NOT_CONNECTED
    throw error
  }
  return client
}

async function createClient(config: ClientConfig): Promise<Client> {
  const { Client } = await loadDriver()
  const client = new Client(config)
  // The next statement notices the loss of an idle connection.
  client.on('error', () => {})
  return client
}

/** The checks for poolers, by address: each address is checked once. */
const poolChecks = new Map<string, Promise<void>>()

/**
 * The sequence in which two connections are used. It has no rhythm, so that a pooler that gives each statement the next of
 * its sessions is noticed too.
 */
const ASKED = [0, 1, 0, 0, 1, 1, 0, 1, 1, 0] as const

/**
 * Refuses a pooler in transaction or statement mode, before any setting is made: settings would reach other clients'
 * sessions, and locks would be shared with them. With such a pooler, one server session serves several connections, or
 * several serve one.
 */
async function refuseTransactionMode(config: SessionConfig): Promise<void> {
  const address = String(config.connectionString)
  let check = poolChecks.get(address)
  if (check === undefined) {
    check = checkSessions(config)
    poolChecks.set(address, check)
    // After any other fault the address is checked again.
    check.catch(() => poolChecks.delete(address))
  }
  await check
}

async function checkSessions({ session: _, ...config }: SessionConfig): Promise<void> {
  const clients = await Promise.all([createClient(config), createClient(config)])
  try {
    await Promise.all(clients.map((client) => client.connect()))
    const processes: [string | null, string | null] = [null, null]
    for (const at of ASKED) {
      const { rows } = await clients[at].query({ text: 'select pg_backend_pid()::text', rowMode: 'array' })
      const process = String((rows as string[][])[0]![0])
      if ((processes[at] ?? process) !== process || processes[1 - at] === process) {
        throw new Error(
          'a pooler in transaction or statement mode answers there: Lyra needs connections that keep their session. Set ' +
            'pool_mode = session for this database in pgbouncer, or give the address of the server itself',
        )
      }
      processes[at] = process
    }
  } finally {
    await Promise.all(clients.map((client) => client.end().catch(() => {})))
  }
}

/** Makes the settings, and checks with another statement whether they persist. */
async function prepareSession(client: Client, session: SessionConfig['session']): Promise<void> {
  const names = Object.keys(session)
  if (names.length === 0) return
  const changes = names.map((name) => `set_config('${name}', '${session[name]}', false)`)
  const settings = names.map((name) => `current_setting('${name}')`)
  const valuesOf = async (columns: string[]): Promise<string[]> =>
    (await client.query({ text: `select ${columns}`, rowMode: 'array' })).rows[0]!
  const [asked, found] = await Promise.all([valuesOf(changes), valuesOf(settings)])
  const lost = names.findIndex((_, at) => asked[at] !== found[at])
  if (lost === -1) return
  throw new Error(
    `the session does not keep its settings: ${names[lost]} is ${JSON.stringify(found[lost])} instead of ` +
      `${JSON.stringify(asked[lost])}. Connect without a pooler, or by one in session mode`,
  )
}

/** Runs `work` on a connection, and closes it. */
export async function onConnection<T>(
  config: SessionConfig,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const client = await connect(config)
  try {
    return await work(client)
  } finally {
    await client.end().catch(() => {})
  }
}

/** Anything that can run statements. */
export type Queryable = Pick<Client, 'query'>

const names = new Map<string, string>()

/**
 * The rows of a statement, each as an array of its columns. The statement is prepared once for each connection, by its
 * text.
 *
 * @throws {AnswerTooLongError} if the answer has more than `maxBytes`; the connection is then closed.
 */
export async function queryRows(
  client: Queryable,
  text: string,
  values: readonly Cell[] = [],
  maxBytes = Number.POSITIVE_INFINITY,
): Promise<Row[]> {
  let name = names.get(text)
  if (name === undefined) {
    name = `lyra_${names.size}`
    names.set(text, name)
  }
  const { PreparedRead } = openedDriver()
  return new Promise((resolve, reject) => {
    const statement = { name, text, values: values.map(encode), maxBytes }
    client.query(new PreparedRead(statement, (error, rows) => (error ? reject(error) : resolve(rows))))
  })
}

/** As {@link queryRows}, for a rare statement, which is not prepared. */
export async function rowsOnce(client: Queryable, text: string, values: readonly Cell[]): Promise<Row[]> {
  const { rows } = await client.query({ text, values: values.map(encode), rowMode: 'array' })
  return rows
}

function encode(value: Cell): string | null {
  return value === null ? null : String(value)
}

/** Writes a transaction's changes, after its other statements: other transactions that get there wait for its end. */
export async function writeChanges(client: Queryable, changes: readonly Change[] | null): Promise<void> {
  await Promise.all([
    client.query('lock table changes in exclusive mode'),
    ...changeStatements(changes).map(({ text, values }) => queryRows(client, text, values)),
  ])
}
