import { HEAD_ROOM } from '../edges.ts'
import type { Dialect } from '../page-statement.ts'

export const POSTGRES_DIALECT: Dialect = {
  merge: 'bounded',
  hex: (column) => `lpad(to_hex(${column}), 16, '0')`,
  join: (column) => `'${' '.repeat(HEAD_ROOM)}' || string_agg(${column}, ',')`,
}
