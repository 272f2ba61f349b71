import { HEAD_ROOM } from '../edges.ts'
import type { Dialect } from '../page-statement.ts'

export const SQLITE_DIALECT: Dialect = {
  merge: 'lazy',
  hex: (column) => `format('%016x', ${column})`,
  // As bytes: they go to the client as they are.
  join: (column) => `cast('${' '.repeat(HEAD_ROOM)}' || group_concat(${column}) as blob)`,
}
