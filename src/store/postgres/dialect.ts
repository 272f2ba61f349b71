import { HEAD_ROOM } from '../edges.ts'
import type { Dialect } from '../page-statement.ts'

export const POSTGRES_DIALECT: Dialect = {
  merge: 'bounded',
  hex: (column) => `lpad(to_hex(${column}), 16, '0')`,
  join: (column, { begin, between, end }) =>
    `case count(*) when 0 then null
      else concat('${' '.repeat(HEAD_ROOM)}', ${begin}, string_agg(${column}, ${between}), ${end}) end`,
}
