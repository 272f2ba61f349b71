import { setTimeout as sleep } from 'node:timers/promises'
import { singleFlight } from '#core/concurrency/single-flight'
import { nodeWriter } from '#core/model/node-json'
import type { Row } from '#core/model/resource'
import { marketSummaries } from '#core/resources/market-summaries'
import { allDrained, COMMENT, type Follower, LAG_WAIT_MS, MAX_PIECE_BYTES, sendToAll } from './follower.ts'
import type { Feed } from './hub.ts'
import type { ReadSummaries } from './long-reads/long-reads.ts'

/** The shortest time between changes that are sent, milliseconds. */
const PACE_MS = 5_000

/** Sent after every summary has been. */
const COMPLETE = Buffer.from('event: complete\ndata: {}\n\n')

/** A market's summary, and the number of the change that brought it. */
type MarketState = { row: Row; change: number }

/**
 * Sends the state of all markets to any number of followers: first every summary, whole, and `complete`; then the parts that
 * have changed, the same bytes for all.
 */
export class SummaryFeed implements Feed {
  /** A filled gap or a deletion changes summaries, but not the store head. */
  readonly awaitsGaps = true
  readonly #read: ReadSummaries
  readonly #paceMs: number
  /** Followers that have received the state. */
  readonly #followers = new Set<Follower>()
  /** New followers that have not received it yet. */
  readonly #joining = new Set<Follower>()
  /** By market id. */
  readonly #state = new Map<string, MarketState>()
  /** Number of the last change; 0 before the first answer. */
  #change = 0
  /** Name of the last answer. */
  #answer: string | null = null
  /** The height of the store in the last answer; null before the first one. */
  #height: bigint | null = null
  /** All summaries as text; null until a new follower needs it. */
  #whole: readonly Buffer[] | null = null
  #sentAt = Number.NEGATIVE_INFINITY
  readonly #updates = singleFlight(() => this.#readAndSend())

  constructor(read: ReadSummaries, paceMs = PACE_MS) {
    this.#read = read
    this.#paceMs = paceMs
  }

  /** Sends changes, once they are due. */
  async update(): Promise<bigint | null> {
    const wait = this.#sentAt + this.#paceMs - performance.now()
    if (wait > 0) await sleep(wait, undefined, { ref: false })
    if (this.#isFollowed) await this.#updates.fresh()
    return this.#height
  }

  /**
   * Adds a follower, which receives the whole state, wherever it starts. Resolves once it has that.
   *
   * @throws {StoreUnavailableError} if the store cannot be read, for the first follower or while there is no state.
   */
  async join(follower: Follower): Promise<void> {
    const isFirst = !this.#isFollowed
    this.#joining.add(follower)
    try {
      // Without followers, commits are not reported.
      if (isFirst) await this.#updates.fresh()
      while (this.#change === 0 && !follower.isClosed) await this.#updates.current()
      await this.#sendWhole(follower)
      if (!follower.isClosed) this.#followers.add(follower)
    } finally {
      this.#joining.delete(follower)
    }
  }

  leave(follower: Follower): void {
    this.#joining.delete(follower)
    this.#followers.delete(follower)
  }

  keepAlive(silent: readonly Follower[]): void {
    sendToAll(silent, COMMENT)
  }

  get #isFollowed(): boolean {
    return this.#followers.size + this.#joining.size > 0
  }

  /** Sends every summary, and then those that have changed meanwhile, until there are none. */
  async #sendWhole(follower: Follower): Promise<void> {
    let change = this.#change
    this.#whole ??= piecesOf([...this.#state.values()].map(({ row }) => marketSummaries.node(row, {})))
    // Followers that join at the same time receive the same bytes.
    await sendPieces(follower, [...this.#whole, COMPLETE], this.#joining.size)
    while (change < this.#change && !follower.isClosed) {
      const newer = [...this.#state.values()].filter((market) => market.change > change)
      change = this.#change
      await sendPieces(follower, piecesOf(newer.map(({ row }) => marketSummaries.node(row, {}))), 1)
    }
  }

  /** Reads the state, and sends what has changed to the followers that have it. */
  async #readAndSend(): Promise<void> {
    let answer = await this.#read(this.#answer)
    while (answer === null && this.#isFollowed) {
      await sleep(LAG_WAIT_MS, undefined, { ref: false })
      answer = await this.#read(this.#answer)
    }
    if (answer === null) return
    this.#answer = answer.name
    this.#height = answer.height
    const change = this.#change + 1
    const nodes: string[] = []
    for (const row of answer.rows) {
      const marketId = String(row[0])
      const node = changedParts(row, this.#state.get(marketId)?.row)
      if (node === null) continue
      nodes.push(node)
      this.#state.set(marketId, { row, change })
    }
    if (nodes.length === 0 && this.#change > 0) return
    this.#change = change
    this.#whole = null
    // Followers that join from now on receive the new state at once.
    const followers = [...this.#followers]
    if (followers.length === 0) return
    this.#sentAt = performance.now()
    for (const [index, piece] of piecesOf(nodes).entries()) {
      if (index > 0) await allDrained(followers)
      sendToAll(followers, piece)
    }
  }
}

async function sendPieces(follower: Follower, pieces: readonly Buffer[], sharers: number): Promise<void> {
  for (const piece of pieces) {
    if (follower.isClosed) return
    follower.send(piece, sharers)
    await follower.drained()
  }
}

const [, ...PARTS] = marketSummaries.fields

const SUMMARY_COLUMNS = marketSummaries.storage.columns.map(({ name }) => name)

/** Each writes an object of one part. */
const PART_WRITERS = PARTS.map((part) => nodeWriter([part], SUMMARY_COLUMNS))

/** The parts of a summary that differ from an earlier one, with the market's id, as JSON; null if all are equal. */
function changedParts(row: Row, before: Row | undefined): string | null {
  if (before === undefined) return marketSummaries.node(row, {})
  let parts = ''
  // The market's id precedes the parts.
  for (const [index, write] of PART_WRITERS.entries()) {
    if (row[index + 1] !== before[index + 1]) parts += `,${write(row, {}).slice(1, -1)}`
  }
  return parts === '' ? null : `{"marketId":"${row[0]}"${parts}}`
}

/** Events of these nodes, in pieces of a bounded length. */
function piecesOf(nodes: readonly string[]): Buffer[] {
  const pieces: Buffer[] = []
  let text = ''
  for (const [index, node] of nodes.entries()) {
    text += `event: ${marketSummaries.name}\ndata: ${node}\n\n`
    if (index < nodes.length - 1 && text.length < MAX_PIECE_BYTES) continue
    pieces.push(Buffer.from(text))
    text = ''
  }
  return pieces
}
