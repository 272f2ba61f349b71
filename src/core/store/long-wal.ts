/**
 * Size in bytes from which a WAL (`StoreWal`, store.ts) is long. A WAL cannot be emptied while a reader uses an older
 * snapshot. Exports therefore end early if it is long, and commands that read for long print a warning.
 */
export const LONG_WAL_BYTES = 256 * 1024 * 1024

/** `281 MB` */
export function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1e6)} MB`
}
