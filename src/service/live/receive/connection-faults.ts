// The faults for which this side closes connections; metrics and the state of receivers count them by these names.

/** Why a connection was closed by this side. */
export const CONNECTION_FAULTS = [
  'address not allowed',
  'second core',
  'silent core',
  'broken handshake',
  'message too large',
  'block too large',
  'refused message',
] as const

export type ConnectionFault = (typeof CONNECTION_FAULTS)[number]

/**
 * Faults in what the connected core has sent. `silent core` is of the connected core, too, but what it has sent is valid. All
 * others are of connections that have not become the core's.
 */
const CORE_FAULTS: readonly ConnectionFault[] = ['message too large', 'block too large', 'refused message']

/** Whether a fault is in the events of a connected core. */
export function isFaultOfCore(fault: ConnectionFault): boolean {
  return CORE_FAULTS.includes(fault)
}
