/** Signals that end the program in order. A session that closes sends SIGHUP, and recipes of logrotate do. */
export const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** Has SIGUSR1 do nothing: Node would open a port on which anyone of this machine may run code in the process. */
export function openNoDebugger(): void {
  process.on('SIGUSR1', () => {})
}
