import { createClient } from './driver.ts'
import type { SessionConfig } from './session.ts'

/** The checks for poolers, by address: each address is checked once. */
const poolChecks = new Map<string, Promise<void>>()

/**
 * The connection, of two, on which each statement of the check runs. The sequence has no rhythm, so that a pooler that gives
 * each statement the next of its sessions is noticed too.
 */
const SEQUENCE = [0, 1, 0, 0, 1, 1, 0, 1, 1, 0] as const

/**
 * Refuses a pooler in transaction or statement mode, before any setting is made: settings would reach other clients'
 * sessions, and locks would be shared with them. With such a pooler, one server session serves several connections, or
 * several serve one.
 */
export async function refuseTransactionMode(config: SessionConfig): Promise<void> {
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

/** Checks that each of two connections always has the same server process, which the other one does not have. */
async function checkSessions({ session: _, ...config }: SessionConfig): Promise<void> {
  const clients = await Promise.all([createClient(config), createClient(config)])
  try {
    await Promise.all(clients.map((client) => client.connect()))
    const processes: [string | null, string | null] = [null, null]
    for (const at of SEQUENCE) {
      const { rows } = await clients[at].query({ text: 'select pg_backend_pid()::text', rowMode: 'array' })
      const process = String((rows as string[][])[0]![0])
      const hasChanged = processes[at] !== null && processes[at] !== process
      const isShared = processes[1 - at] === process
      if (hasChanged || isShared) {
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
