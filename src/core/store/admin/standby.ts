import { setTimeout as sleep } from 'node:timers/promises'
import { StoreLockedError } from '../errors.ts'
import type { WriterOptions } from '../store.ts'

/** How often a standby checks whether the writer has ended. */
const STANDBY_INTERVAL_MS = 500

/**
 * Waits as a standby until the store has no other writer.
 *
 * @param tryLock returns the writer's lock; null if another writer has it
 *
 * @throws {StoreLockedError} if there is another writer, and `isImpatient`.
 */
export async function awaitLock<Lock>(
  name: string,
  { signal, isImpatient, onNotice, onStandby }: WriterOptions,
  tryLock: () => Lock | null | Promise<Lock | null>,
): Promise<Lock> {
  for (let attempt = 0; ; attempt++) {
    const lock = await tryLock()
    if (lock !== null) {
      if (attempt > 0) onStandby?.(false)
      return lock
    }
    if (isImpatient) throw new StoreLockedError(`${name}: another process is the writer`)
    if (attempt === 0) {
      onNotice?.(`${name}: another writer is active; standing by`)
      onStandby?.(true)
    }
    await sleep(STANDBY_INTERVAL_MS, undefined, { signal })
  }
}
