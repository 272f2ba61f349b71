import type { Limits } from '../http/limits.ts'
import type { ExportFile } from './export-file.ts'

/** How long a file is kept after it was last asked for, and at most. */
const KEPT_MS = 60_000
const MAX_KEPT_MS = 5 * 60_000

/** What may be remembered, files and that there is none. */
const MAX_KEPT = 256

/** A file that is kept, or being made; null if its rows are too many. */
type Kept = {
  file: Promise<ExportFile | null>
  /** Once it is made. */
  made: { file: ExportFile | null; until: number } | null
  askedAt: number
  /** How many wait for it; ends its making if nobody does any more. */
  waiting: number
  abandon: AbortController
}

/** Makes a file, until the signal says that nobody wants it any more; null if the rows are too many. */
type Make = (abandoned: AbortSignal) => Promise<ExportFile | null>

/**
 * The files of exports that were made whole, by what was asked for. Whoever asks for the same within a minute gets the
 * same file, whatever was committed since: readers ask for a file range by range. That there is none because the rows are
 * too many is remembered as long, so that it is not begun in vain each time.
 */
export class ExportFiles {
  readonly #limits: Limits['exportFiles']
  /** By what was asked for; what was asked for last is last. */
  readonly #kept = new Map<string, Kept>()
  /** Files that are being made or not closed yet, and their bytes: until they are made, as many as they may have. */
  #files = 0
  #bytes = 0

  constructor(limits: Limits['exportFiles']) {
    this.#limits = limits
  }

  /**
   * The file for what is asked: one that is kept, or a new one. The caller holds it, and lets it go after use. Null if
   * there is no room for it, or if its rows are too many.
   *
   * @param make makes it, and leaves it to these files to let go. What it rejects with, this does, too.
   * @param gone aborted when the caller's client has left
   */
  async ask(asked: string, make: Make, gone: AbortSignal): Promise<ExportFile | null> {
    const kept = this.#kept.get(asked) ?? (this.#hasRoom() ? this.#begin(make, asked) : null)
    if (kept === null) return null
    kept.askedAt = performance.now()
    this.#kept.delete(asked)
    this.#kept.set(asked, kept)
    kept.waiting += 1
    const leave = () => this.#leave(asked, kept)
    gone.addEventListener('abort', leave, { once: true })
    try {
      const file = await kept.file
      file?.hold()
      return file
    } finally {
      gone.removeEventListener('abort', leave)
    }
  }

  /** Lets all files go; those in use are closed after it. */
  async close(): Promise<void> {
    for (const asked of [...this.#kept.keys()]) await this.#forget(asked)
  }

  /** One of those who wait has left: what nobody waits for is not made. */
  #leave(asked: string, kept: Kept): void {
    kept.waiting -= 1
    if (kept.waiting > 0 || kept.made !== null) return
    if (this.#kept.get(asked) === kept) this.#kept.delete(asked)
    kept.abandon.abort(new Error('its client has left'))
  }

  #begin(make: Make, asked: string): Kept {
    const abandon = new AbortController()
    const kept: Kept = { file: make(abandon.signal), made: null, askedAt: 0, waiting: 0, abandon }
    this.#files += 1
    this.#bytes += this.#limits.bytes
    kept.file.then(
      (file) => {
        this.#release(this.#limits.bytes)
        if (file !== null) {
          this.#files += 1
          this.#bytes += file.size
          file.whenUnused(() => this.#release(file.size))
        }
        kept.made = { file, until: performance.now() + MAX_KEPT_MS }
        // The last who waited has left when it was just made.
        if (this.#kept.get(asked) === kept) this.#forgetLater(asked, kept)
        else void file?.letGo()
      },
      () => {
        this.#release(this.#limits.bytes)
        if (this.#kept.get(asked) === kept) this.#kept.delete(asked)
      },
    )
    return kept
  }

  #release(bytes: number): void {
    this.#files -= 1
    this.#bytes -= bytes
  }

  /** Whether there is room for one more file; those that were not asked for the longest make it, if nobody reads them. */
  #hasRoom(): boolean {
    const { bytes, files, allBytes } = this.#limits
    const isFull = () => this.#files >= files || this.#bytes + bytes > allBytes || this.#kept.size >= MAX_KEPT
    for (const [asked, { made }] of this.#kept) {
      if (!isFull()) break
      if (made !== null && made.file?.isRead !== true) void this.#forget(asked)
    }
    return !isFull()
  }

  /** Forgets what is kept once it was not asked for long enough. */
  #forgetLater(asked: string, kept: Kept): void {
    const until = () => Math.min(kept.askedAt + KEPT_MS, kept.made!.until)
    const look = () => {
      if (this.#kept.get(asked) !== kept) return
      if (performance.now() >= until()) void this.#forget(asked)
      else this.#forgetLater(asked, kept)
    }
    setTimeout(look, until() - performance.now()).unref()
  }

  async #forget(asked: string): Promise<void> {
    const { made, file } = this.#kept.get(asked)!
    this.#kept.delete(asked)
    const found = made === null ? await file.catch(() => null) : made.file
    await found?.letGo()
  }
}
