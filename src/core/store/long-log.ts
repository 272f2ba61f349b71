/**
 * Size in bytes above which a WAL counts as long (`StoreLog`, store.ts). A WAL cannot be emptied while a reader
 * uses an older snapshot: exports then end early, and commands that read for long print a warning.
 */
export const LONG_LOG_BYTES = 256 * 1024 * 1024

/** `281 MB` */
export function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1e6)} MB`
}
