/**
 * The size, in bytes, from which on a log is long (store.ts, {@link StoreLog}). A log cannot be emptied while anybody
 * reads a snapshot that is older than it: exports then give way to it, and commands that read for long warn.
 */
export const LONG_LOG_BYTES = 256 * 1024 * 1024

/** `281 MB` */
export function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1e6)} MB`
}
