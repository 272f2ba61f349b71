import { hash } from 'node:crypto'

/** The first 6 bytes of a SHA-256, in base64url. */
const CHARACTERS = 8

let lastId = ''
let lastFingerprint = ''

/** Short form of an id in the cursors bound to it. */
export function fingerprintOf(id: string): string {
  // Pages and streams need the same one for every row.
  if (id !== lastId) {
    lastFingerprint = hash('sha256', id, 'base64url').slice(0, CHARACTERS)
    lastId = id
  }
  return lastFingerprint
}
