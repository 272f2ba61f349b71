import type { Coverage } from '../domain/coverage.ts'
import { decodeCursor } from '../resources/cursor.ts'
import type { Key, Resource, Selection } from '../resources/resource.ts'
import type { Snapshot } from '../store/store.ts'
import { ExportError } from './export-error.ts'
import type { ParquetOptions } from './parquet.ts'

/** Rows of a file at most: a run writes the last file again, if rows follow it. */
export const PART_ROWS = 1_000_000

export const MANIFEST = '_lyra.json'

/** A file, whole: how many rows it holds, and the cursors of the first and the last. */
export type PartFile = { file: string; rows: number; first: string; last: string; sha256: string }

export type PartitionManifest = {
  /** Names of the columns of the files. */
  columns: string[]
  /** The block at which the files were written, and the stored blocks up to it. */
  height: string
  held: string
  /** Whether rows follow the last file: the run was ended before it had written them. */
  isOpen: boolean
  parts: PartFile[]
}

export type PartitionOptions = ParquetOptions & {
  resource: Resource
  /** The market, where rows are written by market. */
  selection: Selection
  folder: string
  snapshot: Snapshot
  /** The coverage of the snapshot. */
  coverage: Coverage
  partRows?: number
  signal?: AbortSignal
  onRows?: (count: number) => void
  onNotice?: (message: string) => void
}

/** The key of a cursor of a manifest. */
export function keyIn(resource: Resource, selection: Selection, cursor: string): Key {
  const key = decodeCursor(resource, selection, cursor)
  if (typeof key === 'string')
    throw new ExportError(`${MANIFEST}: the cursor ${cursor} is ${key}; name a new directory`)
  return key
}
