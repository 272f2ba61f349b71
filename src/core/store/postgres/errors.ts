import { setTimeout as sleep } from 'node:timers/promises'
import { StoreAwayError, StoreDamagedError, StoreError, StoreRefusedError } from '../errors.ts'

/*
 * Who tries again after an error, and for how long:
 *
 * | what | after | tries again |
 * |---|---|---|
 * | reads (connection/read-connections.ts) | a connection that was cut ({@link isConnectionCut}) | up to 10 times within a second, on others; a client waits |
 * | | another lost connection, such as a timeout ({@link isConnectionLost}) | once: a server that hangs is not waited for again |
 * | the writer (writer.ts) | whatever may pass ({@link isPassing}) | until it is stopped: nothing may be left out |
 * | upkeep (upkeep.ts) | the same, and a lock that was not granted | 20 attempts, 250 ms apart |
 * | opening a writer, and migration ({@link withFreshConnections}) | a lost connection to a server that is there | 5 attempts, 200 ms apart: somebody looks on |
 */

/** Attempts on new connections, and the waits between them. */
const CONNECT_ATTEMPTS = 5
const CONNECT_RETRY_MS = 200

type PostgresError = Error & { code?: string; severity?: string }

/** SQLSTATEs, or their first two characters, after which the same work may succeed. */
const PASSING = [
  '08', // connection exception
  '40', // transaction rollback: serialization failure, deadlock
  '53', // insufficient resources: disk full, out of memory, too many connections
  '57', // operator intervention: shutdown, crash, starting up, cancelled
  '25006', // read-only: a failover has made this server a replica
  '25P02', // the transaction has failed before: what another try says is the reason
  '58030', // input or output failed: a worker of a cluster is gone
]

/** Citus's message, as an internal error, if a worker disappears during a statement. */
const WORKER_LOST = /failure on connection marked as essential|SSL SYSCALL error|server closed the connection/

/** Whether the server has refused a connection because it has too many. */
export function isLimitReached(error: unknown): boolean {
  return (error as PostgresError).code === '53300'
}

/** Whether a statement failed because a row with the same key exists. */
export function isDuplicateKey(error: unknown): boolean {
  return (error as PostgresError).code === '23505'
}

/** The system's codes for a server that is not there. */
const NOT_THERE = [
  'ECONNREFUSED',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT',
]

/** The system's and the runtime's codes for a connection that was cut. */
const CUT_OFF = ['ECONNRESET', 'EPIPE', 'ERR_STREAM_DESTROYED', 'ERR_STREAM_WRITE_AFTER_END']

const NETWORK = [...NOT_THERE, ...CUT_OFF, 'ERR_SOCKET_CLOSED']

/** The driver's messages for a lost connection that has no code. */
const CUT = /connection terminated|connection error|not queryable/i

/** As {@link CUT}, and the messages for timeouts. */
const LOST = new RegExp(`${CUT.source}|timeout expired|query read timeout`, 'i')

/** Codes equivalent to {@link CUT}: the server sends `57P01` and `57P02` when it ends a process. */
const CUT_CODES = [...CUT_OFF, '57P01', '57P02']

/** SQLSTATEs, or their first two characters, of a wrong user or password, a missing database, and missing rights. */
const REFUSALS = ['28', '3D', '42501']

/** SQLSTATEs of damaged tables and indexes. */
const DAMAGE = ['XX001', 'XX002']

/** Pseudo-code for a connection that the driver gives up without a code: no password, no encryption. */
export const NOT_CONNECTED = 'LYRA_NOT_CONNECTED'

/** The server's message if it accepts this user from this host only over TLS, or not at all. */
const NO_ENCRYPTION = /pg_hba\.conf.*(?:no encryption|SSL off)/

/** The driver's message if the server asks for a password and there is none. */
const NO_PASSWORD = /client password must be a string/

/** Causes by SQLSTATE, its first two characters, or the system's code. */
const CAUSES: Record<string, string> = {
  '3D': 'there is no such database',
  '53100': "the server's disk is full",
  '53300': 'the server has too many connections',
  ECONNREFUSED: 'nothing listens there',
  ECONNRESET: 'the connection was cut',
  ENOTFOUND: 'there is no such host',
  EAI_AGAIN: 'the host name cannot be resolved',
  ETIMEDOUT: 'the server does not respond',
  ERR_TLS_CERT_ALTNAME_INVALID: "the server's certificate is for another host; use the name that it has",
  ...Object.fromEntries(
    [
      'DEPTH_ZERO_SELF_SIGNED_CERT',
      'SELF_SIGNED_CERT_IN_CHAIN',
      'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    ].map((code) => [
      code,
      "the server's certificate is of an authority that is not known here; name the authority's certificate with sslrootcert=FILE in the address",
    ]),
  ),
}

/** Whether the same work may succeed later, or on a new connection. */
export function isPassing(error: unknown): boolean {
  const { code, message } = error as PostgresError
  if (code === undefined) return LOST.test(message)
  if (code === 'XX000') return WORKER_LOST.test(message)
  return NETWORK.includes(code) || PASSING.some((state) => code.startsWith(state))
}

/** Whether the connection on which the error occurred is unusable. */
export function isConnectionLost(error: unknown): boolean {
  const { code, message, severity } = error as PostgresError
  if (code === undefined) return LOST.test(message)
  // A coordinator reports a lost connection to a worker in this way.
  if (severity === 'ERROR') return false
  return NETWORK.includes(code) || code.startsWith('08') || code.startsWith('57P')
}

/**
 * Whether an established connection was cut. Others may have been cut too, which shows only when they are used. Timeouts
 * and refused connections do not count.
 */
export function isConnectionCut(error: unknown): boolean {
  const { code, message } = error as PostgresError
  return isConnectionLost(error) && (code === undefined ? CUT.test(message) : CUT_CODES.includes(code))
}

/** Runs `work` again if the connection is cut during it; an unreachable server is reported at once. */
export async function withFreshConnections<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      const { code } = error as PostgresError
      const isThere = code === undefined ? isConnectionCut(error) : !NOT_THERE.includes(code)
      if (attempt === CONNECT_ATTEMPTS || !isThere || !isConnectionLost(error)) throw error
      await sleep(CONNECT_RETRY_MS)
    }
  }
}

/** Runs `work`, and turns its errors into those of {@link explainPostgresError}. */
export async function withPostgresErrors<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw explainPostgresError(name, error)
  }
}

/** Why a server does not accept a user. The server's own text is not shown, because it names user, host and encryption. */
function rejectedCause(message: string): string {
  const cause = `the server rejects this user or password: ${message.trim()}`
  return NO_ENCRYPTION.test(message)
    ? `${cause}; it demands TLS: add sslmode=verify-full to the address`
    : cause
}

/** Which right a user does not have, and how to grant it. */
function deniedCause(message: string): string {
  const table = /permission denied for (?:table|relation) (\w+)/.exec(message)?.[1]
  return table === undefined
    ? 'permission denied; have a privileged user run `lyra migrate`, and grant usage of the schema and rights on all its tables'
    : `permission denied for table ${table}; have a privileged user grant select, insert, update, delete (for readers select) ` +
        'on all tables of the schema'
}

/** A database's error as a {@link StoreError} that says what to do. */
export function explainPostgresError(name: string, error: unknown): Error {
  if (error instanceof StoreError) return error
  const { code, message } = error as PostgresError
  if (code === undefined && !LOST.test(message)) return error as Error
  // A coordinator's message about a worker has several lines.
  const cause = causeOf(error as PostgresError) ?? message.trim().replaceAll(/\s+/g, ' ')
  const Kind = kindOf(error as PostgresError)
  return new Kind(`${name}: ${cause}`, { cause: error })
}

/** The cause in this program's words; undefined if only the server's are known. */
function causeOf({ code, message }: PostgresError): string | undefined {
  if (NO_PASSWORD.test(message)) {
    return 'the server asks for a password: give it by PGPASSWORD, ~/.pgpass or in the address'
  }
  const state = code ?? (CUT.test(message) ? 'ECONNRESET' : 'ETIMEDOUT')
  if (state === '42501') return deniedCause(message)
  if (state.startsWith('28')) return rejectedCause(message)
  return CAUSES[state] ?? CAUSES[state.slice(0, 2)]
}

function kindOf(error: PostgresError): typeof StoreError {
  const { code } = error
  if (code === NOT_CONNECTED || REFUSALS.some((state) => code?.startsWith(state))) return StoreRefusedError
  if (DAMAGE.includes(code ?? '')) return StoreDamagedError
  return isPassing(error) ? StoreAwayError : StoreError
}
