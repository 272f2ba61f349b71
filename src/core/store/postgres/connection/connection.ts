import type { Client } from 'pg'
import { isPassing, NOT_CONNECTED } from '../errors.ts'
import { createClient } from './driver.ts'
import { refuseTransactionMode } from './pooler-check.ts'
import type { SessionConfig } from './session.ts'

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

/** Makes the settings, and checks with another statement whether they persist. */
async function prepareSession(client: Client, session: SessionConfig['session']): Promise<void> {
  const names = Object.keys(session)
  if (names.length === 0) return
  const changes = names.map((name) => `set_config('${name}', '${session[name]}', false)`)
  const settings = names.map((name) => `current_setting('${name}')`)
  const valuesOf = async (columns: string[]): Promise<string[]> =>
    (await client.query({ text: `select ${columns}`, rowMode: 'array' })).rows[0]!
  const [requested, current] = await Promise.all([valuesOf(changes), valuesOf(settings)])
  const lost = names.findIndex((_, at) => requested[at] !== current[at])
  if (lost === -1) return
  throw new Error(
    `the session does not keep its settings: ${names[lost]} is ${JSON.stringify(current[lost])} instead of ` +
      `${JSON.stringify(requested[lost])}. Connect without a pooler, or by one in session mode`,
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
