import { setFlagsFromString } from 'node:v8'

/** Larger pieces of memory are given back to the system when they are freed. */
const PIECE_LIMIT = 'MALLOC_MMAP_THRESHOLD_'

/** Free memory at the end of a thread's arena is returned to the system above this size. */
const FREE_LIMIT = 'MALLOC_TRIM_THRESHOLD_'

/** Number of memory arenas shared by the threads; by default each thread gets its own, and keeps its free memory. */
const POOLS = 'MALLOC_ARENA_MAX'

/**
 * The text of 1,000 rows, several times over, stays below it: memory that is given back and taken again costs such a
 * page half as much again, and an export as much again.
 */
const LIMIT_BYTES = 1024 * 1024

/**
 * Starts this program again, as the same process and with the same arguments, so that memory of long answers is given
 * back when it is freed: left to itself, glibc raises its limits to 32 and 64 MiB with the first ones, and the threads
 * of a busy service then keep 100 to 200 MB that are not used. It reads the limits when a process starts, and never
 * again. Does nothing if a limit is set already, or on another system.
 *
 * @param flags of Node that are to be set besides
 */
export function restartWithAllocatorLimit(flags: readonly string[] = []): void {
  if (process.platform !== 'linux' || [PIECE_LIMIT, FREE_LIMIT, POOLS].some((name) => name in process.env))
    return
  const args = [process.execPath, ...flags, ...process.execArgv, ...process.argv.slice(1)]
  const limits = { [PIECE_LIMIT]: String(LIMIT_BYTES), [FREE_LIMIT]: String(LIMIT_BYTES), [POOLS]: '2' }
  process.execve?.(process.execPath, args, { ...process.env, ...limits })
}

/**
 * Makes the heap collect garbage after a growth of 60 %: by default V8 lets it grow to several times the used size when
 * thousands of connections open and close.
 */
export function collectEarly(): void {
  setFlagsFromString('--heap-growing-percent=60')
}
