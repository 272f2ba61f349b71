import type { Key, Resource, Row } from './resource.ts'

/** The key of a row. */
export function keyOf({ key }: Resource, row: Row): Key {
  return key.map(({ type }, index) =>
    type === 'id' || type === 'text' ? String(row[index]) : BigInt(row[index]!),
  )
}
