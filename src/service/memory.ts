import { setFlagsFromString } from 'node:v8'

/** The C library of most Linux systems reads it when a process starts, and never again. */
const SETTING = 'MALLOC_MMAP_THRESHOLD_'

/** Larger pieces of memory are given back to the system when they are freed. */
const THRESHOLD_BYTES = 128 * 1024

/**
 * Starts this program again, as the same process and with the same arguments, so that memory of long answers is given
 * back when it is freed: left to itself, glibc raises that limit to 32 MiB with the first ones, and the threads of a
 * busy service then keep 100 to 200 MB that are not used. Does nothing where the limit is set already, or on another
 * system.
 *
 * @param flags of Node that are to be set besides
 */
export function restartWithAllocatorLimit(flags: readonly string[] = []): void {
  if (process.platform !== 'linux' || process.env[SETTING] !== undefined) return
  const args = [process.execPath, ...flags, ...process.execArgv, ...process.argv.slice(1)]
  process.execve?.(process.execPath, args, { ...process.env, [SETTING]: String(THRESHOLD_BYTES) })
}

/**
 * Has the heap collect its garbage at most 40 % over what was in use: by itself V8 lets it grow to several times that
 * where thousands of connections come and go, for collections fewer by less than is to be measured.
 */
export function collectEarly(): void {
  setFlagsFromString('--heap-growing-percent=40')
}
