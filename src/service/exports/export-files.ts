import type { Limits } from '../http/limits.ts'
import type { ExportFile } from './export-file.ts'

/** How long a file is cached after it was last asked for, and at most. */
const CACHED_MS = 60_000
const MAX_CACHED_MS = 5 * 60_000

/** What may be remembered, files and that there is none. */
const MAX_CACHED = 256

/** A file that is cached, or being made; null if its rows are too many. */
type CachedFile = {
  file: Promise<ExportFile | null>
  /** Once it is made. */
  made: { file: ExportFile | null; until: number } | null
  askedAt: number
  /** How many wait for it; ends its writing if nobody does any more. */
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
  readonly #cached = new Map<string, CachedFile>()
  /** Files that are being made or not closed yet, and their bytes: until they are made, as many as they may have. */
  #files = 0
  #bytes = 0

  constructor(limits: Limits['exportFiles']) {
    this.#limits = limits
  }

  /**
   * The file for what is asked: one that is cached, or a new one. The caller holds it, and lets it go after use. Null if
   * there is no room for it, or if its rows are too many.
   *
   * @param make makes it, and leaves it to these files to let go. What it rejects with, this does, too.
   * @param gone aborted when the caller's client has left
   */
  async ask(asked: string, make: Make, gone: AbortSignal): Promise<ExportFile | null> {
    const cached = this.#cached.get(asked) ?? (this.#hasRoom() ? this.#begin(make, asked) : null)
    if (cached === null) return null
    cached.askedAt = performance.now()
    this.#cached.delete(asked)
    this.#cached.set(asked, cached)
    cached.waiting += 1
    const leave = () => this.#leave(asked, cached)
    gone.addEventListener('abort', leave, { once: true })
    try {
      const file = await cached.file
      file?.hold()
      return file
    } finally {
      gone.removeEventListener('abort', leave)
    }
  }

  /** Lets all files go; those in use are closed after it. */
  async close(): Promise<void> {
    for (const asked of [...this.#cached.keys()]) await this.#forget(asked)
  }

  /** One of those who wait has left: what nobody waits for is not made. */
  #leave(asked: string, cached: CachedFile): void {
    cached.waiting -= 1
    if (cached.waiting > 0 || cached.made !== null) return
    if (this.#cached.get(asked) === cached) this.#cached.delete(asked)
    cached.abandon.abort(new Error('its client has left'))
  }

  #begin(make: Make, asked: string): CachedFile {
    const abandon = new AbortController()
    const cached: CachedFile = { file: make(abandon.signal), made: null, askedAt: 0, waiting: 0, abandon }
    this.#files += 1
    this.#bytes += this.#limits.bytes
    cached.file.then(
      (file) => {
        this.#release(this.#limits.bytes)
        if (file !== null) {
          this.#files += 1
          this.#bytes += file.size
          file.whenUnused(() => this.#release(file.size))
        }
        cached.made = { file, until: performance.now() + MAX_CACHED_MS }
        // The last who waited has left when it was just made.
        if (this.#cached.get(asked) === cached) this.#forgetLater(asked, cached)
        else void file?.letGo()
      },
      () => {
        this.#release(this.#limits.bytes)
        if (this.#cached.get(asked) === cached) this.#cached.delete(asked)
      },
    )
    return cached
  }

  #release(bytes: number): void {
    this.#files -= 1
    this.#bytes -= bytes
  }

  /** Whether there is room for one more file; those that were not asked for the longest make it, if nobody reads them. */
  #hasRoom(): boolean {
    const { bytes, files, allBytes } = this.#limits
    const isFull = () =>
      this.#files >= files || this.#bytes + bytes > allBytes || this.#cached.size >= MAX_CACHED
    for (const [asked, { made }] of this.#cached) {
      if (!isFull()) break
      if (made !== null && made.file?.isRead !== true) void this.#forget(asked)
    }
    return !isFull()
  }

  /** Forgets what is cached once it was not asked for long enough. */
  #forgetLater(asked: string, cached: CachedFile): void {
    const until = () => Math.min(cached.askedAt + CACHED_MS, cached.made!.until)
    const look = () => {
      if (this.#cached.get(asked) !== cached) return
      if (performance.now() >= until()) void this.#forget(asked)
      else this.#forgetLater(asked, cached)
    }
    setTimeout(look, until() - performance.now()).unref()
  }

  async #forget(asked: string): Promise<void> {
    const { made, file } = this.#cached.get(asked)!
    this.#cached.delete(asked)
    const found = made === null ? await file.catch(() => null) : made.file
    await found?.letGo()
  }
}
