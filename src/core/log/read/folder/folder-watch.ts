import { type FSWatcher, watch } from 'node:fs'
import { basename } from 'node:path'
import { HEAD_NAME } from '../../files/log-head.ts'

/** Tells when the head of an event log has changed, as long as its folder can be watched; readers also look each second. */
export class FolderWatch {
  readonly #folder: string
  readonly #onChange: () => void
  #watcher: FSWatcher | null = null
  #hasStopped = false

  constructor(folder: string, onChange: () => void) {
    this.#folder = folder
    this.#onChange = onChange
    this.begin()
  }

  /** Watches the folder, unless it is watched. To be called now and then: it may be made later, or anew. */
  begin(): void {
    if (this.#watcher !== null || this.#hasStopped) return
    try {
      // The folder, not the head: each head is another file.
      const watcher = watch(this.#folder, { persistent: false }, (_, name) => this.#handle(name))
      watcher.on('error', () => this.#end())
      this.#watcher = watcher
    } catch {
      // It is not there, or the system has no more watches.
    }
  }

  stop(): void {
    this.#hasStopped = true
    this.#end()
  }

  #handle(name: string | null): void {
    // A folder that is deleted or moved names itself.
    if (name === basename(this.#folder)) this.#end()
    else if (name === null || name === HEAD_NAME) this.#onChange()
  }

  #end(): void {
    this.#watcher?.close()
    this.#watcher = null
  }
}
