import type { StoreHead } from '#core/store/pages/page'
import type { ClientConnection, Queue } from '../http/clients/queue.ts'
import { emptyStore, invalidParameter } from '../http/errors.ts'
import type { Metrics } from '../metrics.ts'
import { freeBody } from '../questions/free-body.ts'
import type { BodyForm, Question, QueueClass, RenderedBody } from '../questions/question.ts'
import type { AnswerCache, CachedAnswer, CurrentAnswer } from './answer-cache.ts'
import { LoneClient } from './lone-client.ts'
import type { Renderer } from './renderer.ts'

/**
 * An answer as it was sent. Its `body` is that of the rendered answer itself, the same object, unless the bytes were changed,
 * such as by compression.
 */
export type SentAnswer = Pick<CachedAnswer, 'tag' | 'headers'> & { body: Buffer }

/** A request for an answer, and the way to send it. */
export type AnswerRequest<Checked> = {
  /** Key in the cache. */
  key: string
  form: BodyForm
  /**
   * Checks the request.
   *
   * @throws {ApiError} 400
   */
  check(): Checked
  /** The address that it counts for. */
  address: string
  /** Its end makes the answer unnecessary. */
  connection: ClientConnection
  /**
   * Has the memory of the rendered body freed once nobody reads it any more, because it has been sent or cannot be sent. If it
   * does not, the garbage collector frees the memory.
   */
  onceSent(free: () => void): void
  sendCached(cached: CachedAnswer, storeHead: StoreHead): void
  /** Sends an answer; returns the part to cache, or null. */
  sendRendered(rendered: RenderedBody): Promise<SentAnswer | null>
}

type AnswersOptions = {
  renderer: Renderer
  queues: Record<QueueClass, Queue>
  /** Null without a cache. */
  cache: AnswerCache | null
  metrics: Metrics
}

/** The answers of one service; its metrics are added to the given ones. Every answer goes this way. */
export class Answers {
  readonly #renderer: Renderer
  readonly #queues: Record<QueueClass, Queue>
  readonly #cache: AnswerCache | null
  readonly #loneClient = new LoneClient()
  /** Number of answers sent from the cache. */
  #fromMemory = 0

  constructor({ renderer, queues, cache, metrics }: AnswersOptions) {
    this.#renderer = renderer
    this.#queues = queues
    this.#cache = cache
    metrics.tally(
      'lyra_pages_from_memory_total',
      'Pages answered from memory because their rows had not changed.',
      () => this.#fromMemory,
    )
  }

  /**
   * Answers a question, from the cache if possible; otherwise renders it in its queue and caches it. Returns nothing if the
   * answer has been sent at once, otherwise the end of the answer.
   *
   * Rejects with `ApiError` (http/errors.ts) for a refused request, and with the fault that keeps the store from being read.
   */
  answer<Checked>(question: Question<Checked>, request: AnswerRequest<Checked>): Promise<void> | undefined {
    this.#loneClient.count(request.connection)
    return this.#sendAtOnce(request) ? undefined : this.#answerLater(question, request)
  }

  async #answerLater<Checked>(question: Question<Checked>, request: AnswerRequest<Checked>): Promise<void> {
    if (await this.#sendIfCurrent(request)) return
    const checked = request.check()
    const queue = this.#queues[question.workload(checked).queue]
    const work = () => this.#renderAndSend(question, request, checked)
    return queue.run(work, request.address, request.connection)
  }

  /** Sends the cached answer if there is one and it is known to be current. Returns whether it did. */
  #sendAtOnce(request: AnswerRequest<unknown>): boolean {
    return this.#send(request, this.#cache?.findAtOnce(request.key) ?? null)
  }

  /** As {@link Answers.#sendAtOnce}, but asks the store whether the answer is current. */
  async #sendIfCurrent(request: AnswerRequest<unknown>): Promise<boolean> {
    const cache = this.#cache
    if (cache === null || !cache.has(request.key)) return false
    // The rendering that follows reports faults of the store.
    return this.#send(request, await cache.find(request.key).catch(() => null))
  }

  /** Sends a cached answer; returns whether there is one. */
  #send(request: AnswerRequest<unknown>, cached: CurrentAnswer | null): boolean {
    if (cached === null) return false
    this.#fromMemory += 1
    request.sendCached(cached.answer, cached.storeHead)
    return true
  }

  async #renderAndSend<Checked>(
    question: Question<Checked>,
    request: AnswerRequest<Checked>,
    checked: Checked,
  ): Promise<void> {
    // If many clients request the same at once, as after a block, another one may have rendered it meanwhile.
    if (this.#sendAtOnce(request) || (await this.#sendIfCurrent(request))) return
    const rendered = await this.#renderer.render(
      question,
      checked,
      request.form,
      this.#loneClient.is(request.connection),
    )
    if (rendered === null) throw emptyStore()
    if (rendered.refusal !== undefined) throw invalidParameter(rendered.refusal)
    const sent = await request.sendRendered(rendered)
    const isBeingSent = sent !== null && sent.body === rendered.body
    if (!isBeingSent) freeBody(rendered.body)
    else request.onceSent(() => freeBody(rendered.body))
    const source = question.sourceOf(checked)
    if (sent !== null && source !== null && rendered.version !== null) {
      // Nobody waits for this: the answer is sent, and others wait in the queue.
      void this.#cache?.put(request.key, { ...sent, source, version: rendered.version })
    }
  }
}
