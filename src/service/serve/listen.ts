import { once } from 'node:events'
import type { AddressInfo, ListenOptions, Server } from 'node:net'
import { PlainError } from '#core/domain/plain-error'
import type { App } from './app.ts'

/** The service cannot listen on a port, for clients or for a core. */
export class ListenError extends PlainError {
  override name = 'ListenError'
}

/**
 * Connections that the system queues until they are accepted, if it allows as many (`net.core.somaxconn`). With Node's 511,
 * a burst of connections from one client would make others retry after a second or more.
 */
const MAX_WAITING_CONNECTIONS = 4_096

/** How long a stopping service waits for answers in flight, milliseconds. */
export const STOP_TIMEOUT_MS = 10_000

/**
 * Makes a server listen; returns its address, `127.0.0.1:3008`.
 *
 * @param flag the flag that names its port
 * @throws {ListenError} with what to do about it.
 */
export async function listen(
  { server }: { server: Server },
  { host, port }: { host: string; port: number },
  flag: '--port' | '--grpc',
): Promise<string> {
  try {
    const options: ListenOptions = { host, port, backlog: MAX_WAITING_CONNECTIONS }
    server.listen(options)
    await once(server, 'listening')
  } catch (error) {
    throw explainListenError(error, host, port, flag)
  }
  return nameOf(server.address() as AddressInfo)
}

function nameOf({ family, address, port }: AddressInfo): string {
  return `${family === 'IPv6' ? `[${address}]` : address}:${port}`
}

/** Finishes answers in flight, for at most 10 s, and closes. */
export async function closeServer({ server, close }: App): Promise<void> {
  const timer = setTimeout(() => server.closeAllConnections(), STOP_TIMEOUT_MS)
  await close()
  clearTimeout(timer)
}

/** A {@link ListenError} that says why an address cannot be listened on, and what to do; any other error as it is. */
export function explainListenError(error: unknown, host: string, port: number, flag: string): unknown {
  const causes: Record<string, string> = {
    EADDRINUSE: `the port is in use; stop the other program, or choose another port with ${flag}`,
    EACCES: `no permission to listen there; choose a port above 1023 with ${flag}`,
    EADDRNOTAVAIL: 'this machine has no such address',
    ENOTFOUND: 'there is no such host',
  }
  const cause = causes[(error as NodeJS.ErrnoException).code ?? '']
  return cause === undefined ? error : new ListenError(`${host}:${port}: ${cause}`, { cause: error })
}
