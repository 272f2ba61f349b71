import { randomUUID } from 'node:crypto'

/** Characters of a UUID before its last twelve digits. */
const PREFIX_LENGTH = 24

const prefix = randomUUID().slice(0, PREFIX_LENGTH)
let count = 0

/**
 * A new request id, in the form of a UUID: random digits of this process, and the number of the id. No two are equal, but
 * whoever knows one can guess others. A random one for each request would take a twentieth of the time of a cached page.
 */
export function newRequestId(): string {
  count += 1
  return prefix + count.toString(16).padStart(12, '0')
}
