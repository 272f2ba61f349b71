import { type LogDisk, replaceFile } from './log-disk.ts'
import { segmentName, segmentsIn } from './segment-name.ts'

const INDEX_NAME = 'index.json'

/** Writes the names of the sealed segments for readers that cannot list the folder. The listing itself is what counts. */
export async function writeIndex(disk: LogDisk, folder: string): Promise<void> {
  const names = segmentsIn(disk.list(folder))
    .filter(({ kind }) => kind !== 'open')
    .map(segmentName)
  const text = JSON.stringify({ version: 1, segments: names })
  if (disk.readText(`${folder}/${INDEX_NAME}`) === text) return
  await replaceFile(disk, folder, INDEX_NAME, text, { isFlushed: false })
}
