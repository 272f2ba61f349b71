import { setTimeout as sleep } from 'node:timers/promises'
import { marketSummaries } from '#core/resources/market-summaries'
import type { Row } from '#core/resources/resource'
import { sharedRuns } from '#core/shared-runs'
import type {
  ChangedSummaries,
  SummariesQuery,
  SummariesVersion,
} from '#core/store/readings/market-summaries'
import { allDrained, type Follower, idText, LAG_WAIT_MS, sendToAll } from './follower.ts'
import type { Feed } from './hub.ts'
import { changeNode, encodeSummaryId, eventPieces, nameOfReading } from './summary-events.ts'

/** Shortest interval of reading the store, milliseconds: the fastest pace of a follower. */
const READ_INTERVAL_MS = 1_000

/** Readings whose ids are known. */
const REMEMBERED_READINGS = 1_000

/** Reads the summaries that have changed; null while the store holds no block. */
export type ReadSummaries = (query: SummariesQuery) => Promise<ChangedSummaries | null>

/** A stream of summaries: its market, or null for all, and the shortest time between changes of a market. */
export type SummaryPace = { marketId: string | null; everyMs: number }

/** A state that was sent to a group. */
type SentState = {
  /** Number of the reading, and its id. */
  reading: number
  id: string
  /** By market. */
  rows: ReadonlyMap<string, Row>
  /** All rows as text; null until a new follower needs it. */
  whole: readonly Buffer[] | null
}

/** Followers with the same market and pace: all have the same state. */
type Group = SummaryPace & {
  followers: Set<Follower>
  /** Number of new followers that do not have that state yet. */
  joining: number
  sent: SentState | null
  sentAt: number
  /** Whether followers have received only a part of the news. */
  isSending: boolean
}

/**
 * Sends the state of markets to any number of followers. One reading serves all groups, and one text all followers of a
 * group. A new follower receives whole summaries first, and then the parts that differ.
 */
export class SummaryFeed implements Feed {
  readonly #read: ReadSummaries
  readonly #groups = new Map<string, Group>()
  /** The rows of the last reading, and the number of the reading that last changed each. */
  readonly #entries = new Map<string, { row: Row; changedAt: number }>()
  /** The markets of the last reading; null for all. */
  #markets: ReadonlySet<string> | null = new Set()
  #version: SummariesVersion | null = null
  #height = -1n
  #reading = 0
  #name = ''
  /** Numbers of the last readings, by their names in ids. */
  readonly #readings = new Map<string, number>()
  /** Whether there may be something new. */
  #isStale = true
  #readAt = Number.NEGATIVE_INFINITY
  readonly #reads = sharedRuns(() => this.#readChanges())
  readonly #looks = sharedRuns(() => this.#look())
  #timer: NodeJS.Timeout | undefined

  constructor(read: ReadSummaries) {
    this.#read = read
  }

  /** Sends changes to the groups that are due, and schedules the others. */
  pull(): Promise<void> {
    this.#isStale = true
    return this.#looks.fresh()
  }

  /** A filled gap or a deletion changes summaries, but not the position. */
  get awaitsGaps(): boolean {
    return true
  }

  /**
   * Adds a follower. Resolves once it has the state of its group.
   *
   * @param after name of a reading in its last id; if it is known, only markets that have changed since are sent
   */
  async join(follower: Follower, pace: SummaryPace, after: string | null): Promise<void> {
    const group = this.#groups.get(paceKey(pace)) ?? {
      ...{ ...pace, followers: new Set<Follower>() },
      ...{ joining: 0, sent: null, sentAt: Number.NEGATIVE_INFINITY, isSending: false },
    }
    // Without followers, commits are not reported.
    if (this.#groups.size === 0) this.#isStale = true
    this.#groups.set(paceKey(pace), group)
    group.joining++
    try {
      while (group.sent === null && !follower.isClosed) await this.#begin(group)
      let had = after === null ? undefined : this.#readings.get(after)
      for (let sent: SentState | null = null; !follower.isClosed && sent !== group.sent; had = sent.reading) {
        sent = group.sent!
        const pieces = this.#textSince(sent, had)
        // Followers that join at the same time receive the same bytes.
        const sharers = pieces === sent.whole ? group.joining : 1
        for (const piece of pieces) {
          follower.send(piece, sharers)
          await follower.drained()
        }
      }
      if (!follower.isClosed) group.followers.add(follower)
    } finally {
      group.joining--
      this.#forgetIfEmpty(group)
    }
  }

  leave(follower: Follower): void {
    for (const group of this.#groups.values()) {
      if (group.followers.delete(follower)) this.#forgetIfEmpty(group)
    }
  }

  keepAlive(): void {
    for (const { followers, sent, isSending } of this.#groups.values()) {
      // An id covers all changes.
      if (sent !== null) sendToAll(followers, Buffer.from(isSending ? ': \n\n' : `: \n${idText(sent.id)}`))
    }
  }

  #forgetIfEmpty(group: Group): void {
    if (group.joining > 0 || group.followers.size > 0) return
    this.#groups.delete(paceKey(group))
    if (this.#groups.size === 0) clearTimeout(this.#timer)
  }

  /** Gives a new group its first state. */
  async #begin(group: Group): Promise<void> {
    const { marketId } = group
    if (this.#isStale || !this.#isRead(marketId)) await this.#reads.fresh()
    if (this.#isRead(marketId)) group.sent ??= this.#latestOf(group)
    else await sleep(LAG_WAIT_MS)
  }

  /** Whether the last reading included a market, or all markets. */
  #isRead(marketId: string | null): boolean {
    return this.#markets === null || (marketId !== null && this.#markets.has(marketId))
  }

  #latestOf({ marketId }: SummaryPace): SentState {
    const rows = new Map<string, Row>()
    for (const id of marketId === null ? this.#entries.keys() : [marketId]) {
      const entry = this.#entries.get(id)
      if (entry !== undefined) rows.set(id, entry.row)
    }
    return { reading: this.#reading, id: encodeSummaryId(marketId, this.#name), rows, whole: null }
  }

  /** A state as text, or only its markets that have changed since a reading. */
  #textSince(sent: SentState, reading: number | undefined): readonly Buffer[] {
    const { rows, id } = sent
    const textOf = (some: readonly Row[]) =>
      eventPieces(
        some.map((row) => marketSummaries.node(row, {})),
        id,
      )
    if (reading === undefined) {
      sent.whole ??= textOf([...rows.values()])
      return sent.whole
    }
    // At another pace, the follower may have received a later reading: it returns to the group's state.
    const since = Math.min(reading, sent.reading)
    const changed = [...rows].filter(([market]) => this.#entries.get(market)!.changedAt > since)
    return textOf(changed.map(([, row]) => row))
  }

  async #look(): Promise<void> {
    if (this.#nextAt() <= performance.now()) {
      if (this.#isStale) await this.#reads.fresh()
      const now = performance.now()
      const due = [...this.#groups.values()].filter(
        ({ sent, sentAt, everyMs }) => sent !== null && sentAt + everyMs <= now,
      )
      await Promise.all(due.map((group) => this.#sendChanges(group, now)))
    }
    clearTimeout(this.#timer)
    const wait = this.#nextAt() - performance.now()
    if (wait === Number.POSITIVE_INFINITY) return
    // The next pull repeats and reports a failed reading.
    this.#timer = setTimeout(() => this.#looks.fresh().catch(() => {}), Math.max(wait, 1)).unref()
  }

  /** The next time at which a group may be due, by `performance.now()`. */
  #nextAt(): number {
    const times = [...this.#groups.values()].flatMap(({ sent, sentAt, everyMs }) =>
      sent !== null && (this.#isStale || sent.reading !== this.#reading) ? [sentAt + everyMs] : [],
    )
    return Math.max(Math.min(...times), this.#isStale ? this.#readAt + READ_INTERVAL_MS : 0)
  }

  async #sendChanges(group: Group, now: number): Promise<void> {
    const before = group.sent!.rows
    const sent = this.#latestOf(group)
    group.sent = sent
    const nodes = [...sent.rows].flatMap(([market, row]) => changeNode(row, before.get(market)) ?? [])
    if (nodes.length === 0) return
    group.sentAt = now
    // Followers that join during the loop receive the new state at once.
    const followers = [...group.followers]
    group.isSending = true
    for (const [index, piece] of eventPieces(nodes, sent.id).entries()) {
      if (index > 0) await allDrained(followers)
      sendToAll(followers, piece)
    }
    group.isSending = false
  }

  async #readChanges(): Promise<void> {
    this.#isStale = false
    this.#readAt = performance.now()
    const followed = [...this.#groups.values()].map(({ marketId }) => marketId)
    const markets = followed.includes(null) ? null : new Set(followed as string[])
    try {
      const answers = await this.#ask(markets)
      if (!this.#take(answers, markets)) this.#isStale = true
    } catch (error) {
      this.#isStale = true
      throw error
    }
  }

  /** Reads the changes of known markets, and the whole summaries of new ones. */
  async #ask(markets: ReadonlySet<string> | null): Promise<ChangedSummaries[]> {
    const answers: ChangedSummaries[] = []
    const ask = async (some: readonly string[] | null, than: SummariesVersion | null) => {
      let after: string | null = null
      do {
        const answer: ChangedSummaries | null = await this.#read({ markets: some, after, than })
        if (answer === null) return
        answers.push(answer)
        after = answer.reached
      } while (after !== null)
    }
    if (markets === null) {
      await ask(null, this.#markets === null ? this.#version : null)
      return answers
    }
    const { true: known = [], false: added = [] } = Object.groupBy(markets, (id) => `${this.#isRead(id)}`)
    if (known.length > 0) await ask(known, this.#version)
    if (added.length > 0) await ask(added, null)
    return answers
  }

  /** Applies the answers of a reading; returns false, and ignores them, if they are older than the last ones. */
  #take(answers: readonly ChangedSummaries[], markets: ReadonlySet<string> | null): boolean {
    const [first] = answers
    // Of several replicas, one may lag behind another.
    if (first === undefined || BigInt(first.position.height) < this.#height) return false
    const reading = this.#reading + 1
    const name = nameOfReading(first)
    let isNew = name !== this.#name
    for (const id of this.#entries.keys()) if (markets?.has(id) === false) this.#entries.delete(id)
    for (const row of answers.flatMap(({ rows }) => rows)) {
      const id = String(row[0])
      const known = this.#entries.get(id)
      if (known !== undefined && changeNode(row, known.row) === null) continue
      this.#entries.set(id, { row, changedAt: reading })
      isNew = true
    }
    this.#markets = markets
    this.#version = first.version
    this.#height = BigInt(first.position.height)
    if (!isNew) return true
    this.#reading = reading
    this.#name = name
    this.#readings.delete(name)
    this.#readings.set(name, reading)
    if (this.#readings.size > REMEMBERED_READINGS) this.#readings.delete(this.#readings.keys().next().value!)
    return true
  }
}

const paceKey = ({ marketId, everyMs }: SummaryPace) => `${marketId} ${everyMs}`
