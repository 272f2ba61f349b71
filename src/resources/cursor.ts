import { decodePackedCursor, encodePackedCursor, isPackedCursor } from './packed-cursor.ts'
import { decodePointCursor, encodePointCursor, isPointCursor } from './point-cursor.ts'
import type { Key, Resource, Row } from './resource.ts'

/*
 * A cursor holds a row's whole key, so it stays good after its row is gone, and it depends on nothing but the
 * row's identity. That of a data point is written by the database along with the row (point-cursor.ts); the
 * others are packed bytes (packed-cursor.ts).
 */

/** Why a text is not a cursor that the request may carry. */
export type CursorFault = 'empty' | 'garbled' | 'of another resource' | 'of another market'

/** The cursor of a row; `scope` is the id that the resource's cursors are bound to. */
export function encodeCursor(resource: Resource, scope: string | null, row: Row | Key): string {
  return scope === null ? encodePackedCursor(resource, row) : encodePointCursor(scope, row)
}

/** The key that a cursor holds, or what is wrong with it. */
export function decodeCursor(resource: Resource, scope: string | null, text: string): Key | CursorFault {
  if (text === '') return 'empty'
  if (scope === null) {
    return isPointCursor(text) ? 'of another resource' : decodePackedCursor(resource, text)
  }
  return isPackedCursor(text) ? 'of another resource' : decodePointCursor(scope, text)
}
