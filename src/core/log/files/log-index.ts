import { isCount, isMapOf, isObject, parseJson } from '../../domain/shapes.ts'
import { type LogDisk, replaceFileDurably } from './log-disk.ts'
import { parseSegmentName, presentSegments, segmentName } from './segment-name.ts'

export const INDEX_NAME = 'index.json'
const INDEX_VERSION = 1

/**
 * Writes the index of a log durably, unless it is there already: names and sizes of the sealed segments, for readers that
 * follow the log by its URL, and so cannot list its folder. Nobody else reads it.
 */
export async function writeIndex(disk: LogDisk, folder: string): Promise<void> {
  const segments: Record<string, number> = {}
  for (const segment of presentSegments(disk.list(folder))) {
    const name = segmentName(segment)
    const bytes = segment.kind === 'open' ? null : (disk.stat(`${folder}/${name}`)?.bytes ?? null)
    if (bytes !== null) segments[name] = bytes
  }
  const text = JSON.stringify({ version: INDEX_VERSION, segments })
  if (disk.readText(`${folder}/${INDEX_NAME}`) === text) return
  await replaceFileDurably(disk, folder, INDEX_NAME, text)
}

const isIndex = isObject({ version: (version) => version === INDEX_VERSION, segments: isMapOf(isCount) })

/** The sizes of the sealed segments in an index, by name; null if it is none, names anything else, or one number twice. */
export function parseIndex(text: string): Map<string, number> | null {
  const value = parseJson(text)
  if (!isIndex(value)) return null
  const { segments } = value as { segments: Record<string, number> }
  const names = Object.keys(segments)
  const parsed = names.map(parseSegmentName)
  const areSealed = parsed.every((segment) => segment !== null && segment.kind !== 'open')
  const numbers = new Set(parsed.map((segment) => segment?.number))
  return areSealed && numbers.size === names.length ? new Map(Object.entries(segments)) : null
}
