import { hash } from 'node:crypto'

/** Number of characters of a fingerprint: the first 6 bytes of a SHA-256, in base64url. */
export const FINGERPRINT_LENGTH = 8

let lastId = ''
let lastFingerprint = ''

/** The short form of an id in cursors that are bound to it. */
export function fingerprintOf(id: string): string {
  // Every row of a page or stream has the same one.
  if (id !== lastId) {
    lastFingerprint = hash('sha256', id, 'base64url').slice(0, FINGERPRINT_LENGTH)
    lastId = id
  }
  return lastFingerprint
}
