// Tells systemd, or what else supervises the process, how far it is: sd_notify(3). Node has no datagram sockets of the Unix
// kind, on which such messages are sent: systemd's own program sends them.
import { spawn } from 'node:child_process'
import type { Logger } from 'pino'

const PROGRAM = 'systemd-notify'

/**
 * Tells the service manager that the process listens: for a core, for clients, or both. Whether it has data to serve is
 * what `/ready` says. Does nothing without a manager that wants to know; a failure is a warning.
 */
export function notifyReady(logger: Logger): void {
  notify('READY=1', (fault) =>
    logger.warn(
      `${PROGRAM}: ${fault}; the service manager does not learn that the service listens (Type=exec does without)`,
    ),
  )
}

/** Tells the service manager that the process begins to end. A failure is not reported, as {@link notifyReady} has done so. */
export function notifyStopping(): void {
  notify('STOPPING=1', () => {})
}

function notify(message: string, onFault: (fault: string) => void): void {
  // Set by the manager, for units of Type=notify.
  if (!process.env.NOTIFY_SOCKET) return
  const child = spawn(PROGRAM, [message], { stdio: ['ignore', 'ignore', 'pipe'] })
  let output = ''
  child.stderr.on('data', (text: Buffer) => {
    output += text
  })
  child.once('error', ({ code, message }: NodeJS.ErrnoException) =>
    onFault(code === 'ENOENT' ? 'not installed' : message),
  )
  child.once('close', (status, signal) => {
    // Without a process there has been an error.
    if (child.pid !== undefined && status !== 0) onFault(output.trim() || `ended with ${status ?? signal}`)
  })
  // It may end after this process.
  child.unref()
}
