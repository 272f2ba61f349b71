import type { Limits } from '../http/limits.ts'
import type { ExportFile } from './export-file.ts'

/** How long a file is cached after it was last asked for, and at most. */
const CACHED_MS = 60_000
const MAX_CACHED_MS = 5 * 60_000

/** Entries at most: files, and requests known to have too many rows for one. */
const MAX_CACHED = 256

/** A cached file, or one that is being written; null if its rows are too many. */
type CachedFile = {
  file: Promise<ExportFile | null>
  /** Null until it is written. */
  made: { file: ExportFile | null; until: number } | null
  requestedAt: number
  /** Requests that wait for it; its writing is aborted when none is left. */
  waiting: number
  abandon: AbortController
}

/** Writes a file; the signal is aborted when nobody wants it any more. Null if its rows are too many. */
type Make = (abandoned: AbortSignal) => Promise<ExportFile | null>

/**
 * Files of whole exports, by request target. A client that repeats a request within a minute gets the same file, whatever
 * was committed since, because readers ask for a file range by range. Requests with too many rows for a file are remembered
 * for as long, so that their file is not begun in vain each time.
 */
export class ExportFiles {
  readonly #limits: Limits['exportFiles']
  /** By request target; the latest request is last. */
  readonly #cached = new Map<string, CachedFile>()
  /** Files that are being written or not closed yet, and their bytes: as many as they may have while they are written. */
  #files = 0
  #bytes = 0

  constructor(limits: Limits['exportFiles']) {
    this.#limits = limits
  }

  /**
   * The file of a request, cached or new, retained for the caller, who releases it after use. Null if there is no room for
   * it, or if its rows are too many. Rejects with the error of `make`.
   *
   * @param make writes the file; these files release it
   * @param gone aborted when the caller's client has left
   */
  async ask(asked: string, make: Make, gone: AbortSignal): Promise<ExportFile | null> {
    const cached = this.#cached.get(asked) ?? (this.#hasRoom() ? this.#begin(make, asked) : null)
    if (cached === null) return null
    cached.requestedAt = performance.now()
    this.#cached.delete(asked)
    this.#cached.set(asked, cached)
    cached.waiting += 1
    const leave = () => this.#leave(asked, cached)
    gone.addEventListener('abort', leave, { once: true })
    try {
      const file = await cached.file
      file?.retain()
      return file
    } finally {
      gone.removeEventListener('abort', leave)
    }
  }

  /** Releases all files; those in use are closed after their use. */
  async close(): Promise<void> {
    for (const asked of [...this.#cached.keys()]) await this.#forget(asked)
  }

  /** A client that waited has left: a file that nobody waits for is not written to its end. */
  #leave(asked: string, cached: CachedFile): void {
    cached.waiting -= 1
    if (cached.waiting > 0 || cached.made !== null) return
    if (this.#cached.get(asked) === cached) this.#cached.delete(asked)
    cached.abandon.abort(new Error('its client has left'))
  }

  #begin(make: Make, asked: string): CachedFile {
    const abandon = new AbortController()
    const cached: CachedFile = { file: make(abandon.signal), made: null, requestedAt: 0, waiting: 0, abandon }
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
        // The last client that waited has left just before the end.
        if (this.#cached.get(asked) === cached) this.#forgetLater(asked, cached)
        else void file?.release()
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

  /** Whether there is room for one more file. Those that nobody reads make room, the longest unused first. */
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

  /** Forgets an entry once nobody has asked for it for long enough. */
  #forgetLater(asked: string, cached: CachedFile): void {
    const until = () => Math.min(cached.requestedAt + CACHED_MS, cached.made!.until)
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
    await found?.release()
  }
}
