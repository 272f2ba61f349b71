import { type Key, type Resource, type Row, type Selection, scopeOf } from '../model/resource.ts'
import { LISTS } from './resources.ts'

/** Why a text is not a valid cursor of the request. */
export type CursorFault = 'empty' | 'garbled' | 'of another resource' | 'of another market'

/** The cursor of a row, or of a key. */
export function encodeCursor(resource: Resource, selection: Selection, row: Row | Key): string {
  return resource.cursor.encode(scopeOf(resource, selection), row)
}

/** The key in a cursor, or the reason why the cursor is invalid. */
export function decodeCursor(resource: Resource, selection: Selection, text: string): Key | CursorFault {
  if (text === '') return 'empty'
  const { cursor } = resource
  if (cursor.isOne(text)) return cursor.decode(scopeOf(resource, selection), text)
  return LISTS.some((other) => other.cursor.isOne(text)) ? 'of another resource' : 'garbled'
}
