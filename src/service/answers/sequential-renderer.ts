import type { BodyForm, Question, RenderedBody } from '../questions/question.ts'
import type { Renderer } from './renderer.ts'

/** Most rows of a page that is rendered here: 200 data points take 0.2 ms. */
const MAX_ROWS = 200

/** A page that takes longer than this, in milliseconds, has waited for a disk, and the event loop with it. */
const SLOW_MS = 10

/** How long no page is rendered here after a slow one, in milliseconds. On a busy machine, any page may be slow. */
const PAUSE_MS = 100

/**
 * Renders in threads, but for a client that reads a list page after page over one connection while nobody else waits. Handing
 * a page to a thread and back takes as long as rendering it, so the pages of this client are rendered here, at most one in each
 * round of the event loop, and only pages of few rows that read no others.
 */
export class SequentialRenderer implements Renderer {
  readonly isSerial: boolean
  readonly #here: Renderer
  readonly #threads: Renderer
  /** Number of answers that are being rendered in threads. */
  #inThreads = 0
  /** Whether a page has been rendered here in this round of the event loop. */
  #hasRendered = false
  /** The time, by `performance.now`, before which no page is rendered here. */
  #pausedUntil = 0

  /** @param here renders in this thread, from the store that `threads` read; its reader stays its owner's to close */
  constructor(here: Renderer, threads: Renderer) {
    this.#here = here
    this.#threads = threads
    this.isSerial = threads.isSerial
  }

  async render<Checked>(
    question: Question<Checked>,
    checked: Checked,
    form: BodyForm,
    isAlone: boolean,
  ): Promise<RenderedBody | null> {
    if (isAlone && form === 'json' && this.#mayBlock() && isQuick(question, checked)) {
      return this.#renderHere(question, checked)
    }
    this.#inThreads += 1
    try {
      return await this.#threads.render(question, checked, form, isAlone)
    } finally {
      this.#inThreads -= 1
    }
  }

  isRunning(): boolean {
    return this.#threads.isRunning()
  }

  close(): Promise<void> {
    return this.#threads.close()
  }

  /** Whether the event loop may wait for a page. */
  #mayBlock(): boolean {
    return this.#inThreads === 0 && !this.#hasRendered && performance.now() >= this.#pausedUntil
  }

  async #renderHere<Checked>(question: Question<Checked>, checked: Checked): Promise<RenderedBody | null> {
    this.#hasRendered = true
    setImmediate(() => {
      this.#hasRendered = false
    })
    const startedAt = performance.now()
    try {
      return await this.#here.render(question, checked, 'json', true)
    } finally {
      const now = performance.now()
      if (now - startedAt > SLOW_MS) this.#pausedUntil = now + PAUSE_MS
    }
  }
}

/** Whether a page takes no longer than its rows. */
function isQuick<Checked>(question: Question<Checked>, checked: Checked): boolean {
  const workload = question.workload(checked)
  return workload.queue === 'short' && workload.rows <= MAX_ROWS && workload.readsOnlyItsRows
}
