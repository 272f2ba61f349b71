import { constants, setPriority } from 'node:os'

/**
 * Lowers this thread's priority below that of the process's other threads, on Linux, if each thread has one.
 * Elsewhere it would slow the whole process.
 */
export function yieldToOthers(): void {
  if (process.platform !== 'linux') return
  try {
    setPriority(0, constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // Not allowed here: this thread then competes with them on equal terms.
  }
}
