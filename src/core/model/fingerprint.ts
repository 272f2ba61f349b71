import { hash } from 'node:crypto'

/** The first 6 bytes of a SHA-256, in base64url. */
const CHARACTERS = 8

let lastId = ''
let lastFingerprint = ''

/** The short form of an id in cursors that are bound to it. */
export function fingerprintOf(id: string): string {
  // Every row of a page or stream has the same one.
  if (id !== lastId) {
    lastFingerprint = hash('sha256', id, 'base64url').slice(0, CHARACTERS)
    lastId = id
  }
  return lastFingerprint
}
