import type { SqlPart } from './node-sql.ts'
import type { Key, Row } from './row.ts'

/*
 * A cursor contains a row's whole key, so it is valid after its row is gone, and it depends on nothing but the row's
 * identity. SQLite writes its text along with the row.
 */

/** Writes and reads the cursors of a resource. */
export type CursorCodec = {
  /** What its cursors begin with, and those of no other resource. */
  letter: string
  /** The cursor of a row or a key. `scope` is the id that the resource's cursors are bound to. */
  encode(scope: string | null, row: Row | Key): string
  /** Whether a text has the form of such a cursor, for any scope. */
  isOne(text: string): boolean
  decode(scope: string | null, text: string): Key | 'garbled' | 'of another market'
  /**
   * The result of `encode`, in SQLite's SQL over a row's columns.
   *
   * @param known values of columns that are the same for all rows, by name
   */
  sql(known: Readonly<Record<string, string>>): SqlPart[]
}
