import { ClientGoneError } from '../http/clients/queue.ts'
import { ApiError } from '../http/errors.ts'
import type { Limits } from '../http/limits.ts'
import { type ExportFile, NoTemporaryFileError } from './export-file.ts'

/** How long a file is cached after its last request, and at most. */
const CACHED_MS = 60_000
const MAX_CACHED_MS = 5 * 60_000

/** Entries at most: files, and requests known to have too many rows for one. */
const MAX_CACHED = 256

/** How long no file is begun after one could not be written: on a full disk, each would be written up to that point. */
const RETRY_MS = 5_000

/** A cached file, or one that is being written. */
type CachedFile = {
  /** Resolves once it is written, with null if its rows are too many. */
  file: Promise<ExportFile | null>
  /** What `file` has resolved with, and when it is dropped at the latest; null while the file is being written. */
  written: { file: ExportFile | null; latestEnd: number } | null
  requestedAt: number
  /** While it is being written, the requests that wait for it; its writing is aborted when none is left. */
  waiting: number
  abandon: AbortController
}

/**
 * Writes a file; the signal is aborted when nobody wants it any more. Null if its rows are too many. Rejects with
 * {@link NoTemporaryFileError} if the disk does not take it.
 */
type WriteFile = (abandoned: AbortSignal) => Promise<ExportFile | null>

/**
 * Files of whole exports, by the export's key. A client that repeats a request within a minute gets the same file, for up to
 * five minutes, whatever was committed since, because readers request a file range by range. A file that nobody reads is
 * dropped earlier if another needs its room. Requests with too many rows for a file are remembered in the same way, so that
 * their file is not begun in vain each time.
 */
export class ExportFiles {
  readonly #limits: Limits['exportFiles']
  /** By the export's key; the latest request is last. */
  readonly #cached = new Map<string, CachedFile>()
  /** Files that are being written or not closed yet, and their bytes: as many as they may have while they are written. */
  #files = 0
  #bytes = 0
  /** When files may be begun again, after one could not be written. */
  #retryAt = Number.NEGATIVE_INFINITY

  constructor(limits: Limits['exportFiles']) {
    this.#limits = limits
  }

  /**
   * The file of a request, cached or new, retained for the caller, who releases it after use. Null if there is no room for
   * it, if its rows are too many, or if no file can be written now. Rejects with {@link ClientGoneError} once the client has
   * left; otherwise with the error of `write`. If another request writes the file for both, that is its error; but what was
   * unavailable to that one, such as a slot, is asked for again.
   *
   * @param write writes the file if it is not cached; these files release it
   * @param gone aborted when the caller's client has left
   */
  async fileOf(key: string, write: WriteFile, gone: AbortSignal): Promise<ExportFile | null> {
    for (;;) {
      const shared = this.#find(key)
      if (shared === null && !this.#mayBegin()) return null
      try {
        return await this.#waitFor(key, shared ?? this.#begin(key, write), gone)
      } catch (error) {
        if (gone.aborted) throw error
        if (error instanceof NoTemporaryFileError) return null
        const isUnavailable = error instanceof ApiError && error.status === 503
        if (shared === null || !isUnavailable) throw error
      }
    }
  }

  /** Releases all files; those that are being written are given to the requests that wait for them, and closed after their use. */
  async close(): Promise<void> {
    for (const [key, { file }] of [...this.#cached]) {
      await file.catch(() => null)
      await this.#drop(key)
    }
  }

  /** The cached entry of a request, unless its file can no longer be read. */
  #find(key: string): CachedFile | null {
    const cached = this.#cached.get(key)
    if (cached?.written?.file?.isUnreadable === true) {
      void this.#drop(key)
      return null
    }
    return cached ?? null
  }

  /** Whether a file may be begun: the disk takes files as far as known, and there is room for one more. */
  #mayBegin(): boolean {
    return performance.now() >= this.#retryAt && this.#makeRoom()
  }

  /** Waits until a file is written, and retains it for the caller. */
  async #waitFor(key: string, cached: CachedFile, gone: AbortSignal): Promise<ExportFile | null> {
    cached.requestedAt = performance.now()
    this.#cached.delete(key)
    this.#cached.set(key, cached)
    cached.waiting += 1
    const leave = () => this.#leave(key, cached)
    gone.addEventListener('abort', leave, { once: true })
    try {
      // A written file is retained at once, before another request can take its room.
      const file = cached.written === null ? await cached.file : cached.written.file
      // Without its last client, a file is released as soon as it is written.
      if (gone.aborted) throw new ClientGoneError()
      file?.retain()
      return file
    } finally {
      gone.removeEventListener('abort', leave)
    }
  }

  /** A client that waited has left: a file that nobody waits for is not written to its end. */
  #leave(key: string, cached: CachedFile): void {
    cached.waiting -= 1
    if (cached.waiting > 0 || cached.written !== null) return
    if (this.#cached.get(key) === cached) this.#cached.delete(key)
    cached.abandon.abort(new Error('its client has left'))
  }

  #begin(key: string, write: WriteFile): CachedFile {
    const abandon = new AbortController()
    const file = write(abandon.signal)
    const cached: CachedFile = { file, written: null, requestedAt: 0, waiting: 0, abandon }
    this.#count(this.#limits.bytes)
    file.then(
      (written) => this.#onWritten(key, cached, written),
      (error: unknown) => {
        if (error instanceof NoTemporaryFileError) this.#retryAt = performance.now() + RETRY_MS
        this.#uncount(this.#limits.bytes)
        if (this.#cached.get(key) === cached) this.#cached.delete(key)
      },
    )
    return cached
  }

  #onWritten(key: string, cached: CachedFile, file: ExportFile | null): void {
    this.#uncount(this.#limits.bytes)
    if (file !== null) {
      this.#count(file.size)
      file.whenUnused(() => this.#uncount(file.size))
    }
    cached.written = { file, latestEnd: performance.now() + MAX_CACHED_MS }
    // The last client that waited has left just before the end.
    if (this.#cached.get(key) === cached) this.#dropLater(key, cached)
    else void file?.release()
  }

  #count(bytes: number): void {
    this.#files += 1
    this.#bytes += bytes
  }

  #uncount(bytes: number): void {
    this.#files -= 1
    this.#bytes -= bytes
  }

  /**
   * Drops files that nobody reads, the longest unused first, until there is room for one more; requests known to have too
   * many rows only if there are too many entries, as they have no file. Returns whether there is room.
   */
  #makeRoom(): boolean {
    for (const [key, { written }] of this.#cached) {
      if (this.#hasRoom()) break
      if (written === null) continue
      const isInTheWay = written.file === null ? this.#cached.size >= MAX_CACHED : !written.file.isRead
      if (isInTheWay) void this.#drop(key)
    }
    return this.#hasRoom()
  }

  #hasRoom(): boolean {
    const { bytes, files, allBytes } = this.#limits
    return this.#files < files && this.#bytes + bytes <= allBytes && this.#cached.size < MAX_CACHED
  }

  /** Drops an entry once it has not been requested for long enough. */
  #dropLater(key: string, cached: CachedFile): void {
    const end = () => Math.min(cached.requestedAt + CACHED_MS, cached.written!.latestEnd)
    const dropIfDue = () => {
      if (this.#cached.get(key) !== cached) return
      if (performance.now() >= end()) void this.#drop(key)
      else this.#dropLater(key, cached)
    }
    setTimeout(dropIfDue, end() - performance.now()).unref()
  }

  /** Drops the entry of a file that is written; nothing is left to do for one that could not be. */
  async #drop(key: string): Promise<void> {
    const written = this.#cached.get(key)?.written
    this.#cached.delete(key)
    await written?.file?.release()
  }
}
