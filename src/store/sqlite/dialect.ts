import { HEAD_ROOM } from '../edges.ts'
import type { Dialect } from '../page-statement.ts'

export const SQLITE_DIALECT: Dialect = {
  merge: 'lazy',
  hex: (column) => `format('%016x', ${column})`,
  // As bytes: they go to the client as they are.
  join: (column, { begin, between, end }) =>
    `case count(*) when 0 then null
      else cast(concat('${' '.repeat(HEAD_ROOM)}', ${begin}, group_concat(${column}, ${between}), ${end}) as blob) end`,
}
