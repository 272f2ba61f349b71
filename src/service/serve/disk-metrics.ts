import { statfs } from 'node:fs/promises'
import type { Metrics } from '../metrics.ts'

/** Adds the sizes of the disks that folders are on, with the key of each folder as the label `of`. */
export function addDiskMetrics({ gauge }: Metrics, folders: Readonly<Record<string, string>>): void {
  const figures = [
    ['lyra_disk_size_bytes', 'Size of the disk of a file or folder.', 'blocks'],
    ['lyra_disk_free_bytes', 'Bytes of that disk available to the service.', 'bavail'],
  ] as const
  for (const [name, help, count] of figures) {
    gauge(name, help, ['of'], async (bytes) => {
      for (const [of, folder] of Object.entries(folders)) {
        const disk = await statfs(folder).catch(() => null)
        if (disk !== null) bytes.set({ of }, disk[count] * disk.bsize)
      }
    })
  }
}
