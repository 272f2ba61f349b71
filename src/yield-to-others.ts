import { constants, setPriority } from 'node:os'

/**
 * Lets the other threads of the process go first from now on, on Linux, where a priority is a thread's own. Elsewhere
 * it would slow the whole process.
 */
export function yieldToOthers(): void {
  if (process.platform !== 'linux') return
  try {
    setPriority(0, constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // Not allowed here: this thread then competes with them on equal terms.
  }
}
