import { setFlagsFromString } from 'node:v8'

/** Pieces of memory above this size are returned to the system when they are freed. */
const PIECE_LIMIT = 'MALLOC_MMAP_THRESHOLD_'

/** Free memory at the end of a thread's arena is returned to the system above this size. */
const FREE_LIMIT = 'MALLOC_TRIM_THRESHOLD_'

/** Number of memory arenas shared by the threads; by default each thread has its own, and does not return free memory. */
const ARENAS = 'MALLOC_ARENA_MAX'

/**
 * The text of 1,000 rows is several times smaller: returning its memory to the system and asking for it again would make such
 * a page half as expensive again, and double the cost of an export.
 */
const LIMIT_BYTES = 1024 * 1024

/**
 * Starts this program again, as the same process and with the same arguments, so that the memory of long answers is returned
 * to the system when it is freed. Otherwise glibc raises its limits to 32 and 64 MiB with the first long answers, and the
 * threads of a busy service then hold 100 to 200 MB that they do not use. It reads its limits only when a process starts.
 * Does nothing if a limit is already set, or on a system other than Linux.
 *
 * @param flags further flags for Node
 */
export function restartWithAllocatorLimit(flags: readonly string[] = []): void {
  if (process.platform !== 'linux' || [PIECE_LIMIT, FREE_LIMIT, ARENAS].some((name) => name in process.env))
    return
  const args = [process.execPath, ...flags, ...process.execArgv, ...process.argv.slice(1)]
  const limits = { [PIECE_LIMIT]: String(LIMIT_BYTES), [FREE_LIMIT]: String(LIMIT_BYTES), [ARENAS]: '2' }
  process.execve?.(process.execPath, args, { ...process.env, ...limits })
}

/**
 * Makes V8 collect garbage after the heap has grown by 60 %. By default it lets the heap grow to several times the used size
 * when thousands of connections open and close.
 */
export function collectEarly(): void {
  setFlagsFromString('--heap-growing-percent=60')
}
