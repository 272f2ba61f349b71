import type { Client, ClientConfig } from 'pg'

/** The driver, and this program's extensions of it. */
type Driver = typeof import('pg') & typeof import('./prepared-read.ts')

/** Null until it is loaded, with the first connection: not every store needs it. */
let driver: Driver | null = null

/** The driver, for functions that have got a connection. */
export function loadedDriver(): Driver {
  if (driver === null) throw new TypeError('no connection has been opened')
  return driver
}

/** Loads the driver. The first connection does so, too. */
export async function loadDriver(): Promise<Driver> {
  driver ??= { ...(await import('pg')), ...(await import('./prepared-read.ts')) }
  return driver
}

/** Creates a connection that is not open yet. */
export async function createClient(config: ClientConfig): Promise<Client> {
  const { Client } = await loadDriver()
  const client = new Client(config)
  // The next statement notices the loss of an idle connection.
  client.on('error', () => {})
  return client
}
