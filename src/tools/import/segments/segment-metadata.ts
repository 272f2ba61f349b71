import { closeSync, openSync, readSync } from 'node:fs'
import { ImportError } from '../import-error.ts'
import { isChainId } from '../reference-values.ts'
import { parseSegmentName, type SegmentName, segmentName } from './segment-name.ts'
import type { ZipDirectory } from './zip-file.ts'

/** The name of the entry that describes a segment. */
export const METADATA = 'metadata.json'
const MAX_METADATA_FILE_BYTES = 64 * 1024

/** Refuses segments of v0.70 and before: they are tar archives, whose tables have no header lines. */
export function refuseTar(path: string): void {
  const start = Buffer.alloc(512)
  const file = openSync(path, 'r')
  try {
    readSync(file, start, 0, start.length, 0)
  } finally {
    closeSync(file)
  }
  const isTar = start.toString('latin1', 257, 262) === 'ustar'
  const isGzip = start[0] === 0x1f && start[1] === 0x8b
  if (!isTar && !isGzip) return
  throw new ImportError(
    `${path}: a ${isTar ? 'tar' : 'gzip'} archive, as written by data nodes up to v0.70: its tables have no header lines and cannot be imported. ` +
      'Import the database of a node that has loaded them, or segments of v0.71 or later. Event files are for lyra ingest',
  )
}

/**
 * Reads a segment's metadata.
 *
 * @throws {ImportError} if it has none, or its name does not match them.
 */
export async function readMetadata(path: string, zip: ZipDirectory): Promise<SegmentName> {
  if (!zip.names.includes(METADATA)) {
    throw new ImportError(
      `${path}: has no ${METADATA}, so it is not a network-history segment. \`data-node network-history copy\` writes them`,
    )
  }
  const pieces: Buffer[] = []
  let size = 0
  for await (const piece of zip.read(METADATA)) {
    size += piece.length
    if (size > MAX_METADATA_FILE_BYTES)
      throw new ImportError(`${path}: ${METADATA} has more than ${MAX_METADATA_FILE_BYTES} bytes`)
    pieces.push(piece)
  }
  const metadata = parseMetadata(path, Buffer.concat(pieces).toString())
  const name = parseSegmentName(path)
  const expected = segmentName(metadata)
  if (name === null || segmentName(name) !== expected) {
    throw new ImportError(
      `${path}: its ${METADATA} describes ${JSON.stringify(expected)}. Rename the file to that`,
    )
  }
  if (metadata.from > metadata.to)
    throw new ImportError(`${path}: begins at block ${metadata.from}, after its end`)
  return metadata
}

function parseMetadata(path: string, text: string): SegmentName {
  let data: Record<string, unknown> | null = null
  try {
    data = JSON.parse(text) as Record<string, unknown>
  } catch {}
  const fields = [data?.DatabaseVersion, data?.HeightFrom, data?.HeightTo]
  const chainId = data?.ChainID
  if (
    typeof chainId !== 'string' ||
    !isChainId(chainId) ||
    !fields.every((value) => Number.isSafeInteger(value) && (value as number) >= 0)
  ) {
    throw new ImportError(
      `${path}: ${METADATA} is not that of a segment: it must have ChainID, DatabaseVersion, HeightFrom and HeightTo. Copy the segment again`,
    )
  }
  const [schemaVersion, from, to] = fields as [number, number, number]
  return { chainId, schemaVersion, from, to }
}
