import { once } from 'node:events'

/** A sign that something has changed, which stays until someone waits for it. */
export class ChangeSignal {
  #isThere = false
  readonly #listeners = new EventTarget()

  /** Something has changed: ends {@link next}, or the next call of it at once. */
  tell(): void {
    this.#isThere = true
    this.#listeners.dispatchEvent(new Event('change'))
  }

  /**
   * Resolves at once if something has changed since the last call; otherwise with the next change, after a time, or when
   * aborted.
   */
  async next(atMostMs: number, signal: AbortSignal): Promise<void> {
    if (!this.#isThere && !signal.aborted) {
      const either = AbortSignal.any([signal, AbortSignal.timeout(atMostMs)])
      await once(this.#listeners, 'change', { signal: either }).catch(() => {})
    }
    this.#isThere = false
  }
}
