import { constants, setPriority } from 'node:os'

/**
 * Lowers this thread's priority below that of the process's other threads, on Linux, where each thread has one. Elsewhere
 * it would slow the whole process. On a busy machine other threads wait for this one while it has a lock that all threads
 * share (Node's pool for files, V8's helpers): nothing that handles live events may call this.
 */
export function yieldToOthers(): void {
  if (process.platform !== 'linux') return
  try {
    setPriority(0, constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // Not allowed here: this thread then competes with them on equal terms.
  }
}
