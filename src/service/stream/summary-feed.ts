import { setTimeout as sleep } from 'node:timers/promises'
import { marketSummaries } from '#core/resources/market-summaries'
import type { Row } from '#core/resources/resource'
import { sharedRuns } from '#core/shared-runs'
import type {
  ChangedSummaries,
  SummariesQuery,
  SummariesVersion,
} from '#core/store/readings/market-summaries'
import { allDrained, COMMENT, type Follower, LAG_WAIT_MS, sendToAll } from './follower.ts'
import type { Feed } from './hub.ts'
import { changeNode, encodeSummaryId, eventPieces, idText, nameOfReading } from './summary-events.ts'

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
export function createSummaryFeed(read: ReadSummaries) {
  let timer: NodeJS.Timeout | undefined
  const groups = new Map<string, Group>()
  /** The rows of the last reading, and the number of the reading that last changed each. */
  const entries = new Map<string, { row: Row; changedAt: number }>()
  /** The markets of the last reading; null for all. */
  let lastMarkets: ReadonlySet<string> | null = new Set()
  let lastVersion: SummariesVersion | null = null
  let lastHeight = -1n
  let lastReading = 0
  let lastName = ''
  /** Numbers of the last readings, by their names in ids. */
  const readings = new Map<string, number>()
  /** Whether there may be something new. */
  let isStale = true
  let readAt = Number.NEGATIVE_INFINITY
  const reads = sharedRuns(readChanges)
  const looks = sharedRuns(look)

  /** Sends changes to the groups that are due, and schedules the others. */
  function pull(): Promise<void> {
    isStale = true
    return looks.fresh()
  }

  /**
   * Adds a follower. Resolves once it has the state of its group.
   *
   * @param after name of a reading in its last id; if it is known, only markets that have changed since are sent
   */
  async function join(follower: Follower, pace: SummaryPace, after: string | null): Promise<void> {
    const group = groups.get(paceKey(pace)) ?? {
      ...{ ...pace, followers: new Set<Follower>() },
      ...{ joining: 0, sent: null, sentAt: Number.NEGATIVE_INFINITY, isSending: false },
    }
    // Without followers, commits are not reported.
    if (groups.size === 0) isStale = true
    groups.set(paceKey(pace), group)
    group.joining++
    try {
      while (group.sent === null && !follower.isClosed) await begin(group)
      let had = after === null ? undefined : readings.get(after)
      for (let sent: SentState | null = null; !follower.isClosed && sent !== group.sent; had = sent.reading) {
        sent = group.sent!
        const pieces = textSince(sent, had)
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
      forgetIfEmpty(group)
    }
  }

  function leave(follower: Follower): void {
    for (const group of groups.values()) {
      if (group.followers.delete(follower)) forgetIfEmpty(group)
    }
  }

  function keepAlive(silent: readonly Follower[]): void {
    const waiting = new Set(silent)
    for (const { followers, sent, isSending } of groups.values()) {
      // An id covers all changes.
      if (sent === null || isSending) continue
      const own = silent.filter((follower) => followers.has(follower))
      for (const follower of own) waiting.delete(follower)
      sendToAll(own, Buffer.from(idText(sent.id)))
    }
    sendToAll(waiting, COMMENT)
  }

  function forgetIfEmpty(group: Group): void {
    if (group.joining > 0 || group.followers.size > 0) return
    groups.delete(paceKey(group))
    if (groups.size === 0) clearTimeout(timer)
  }

  /** Gives a new group its first state. */
  async function begin(group: Group): Promise<void> {
    const { marketId } = group
    if (isStale || !isRead(marketId)) await reads.fresh()
    if (isRead(marketId)) group.sent ??= latestOf(group)
    else await sleep(LAG_WAIT_MS)
  }

  /** Whether the last reading included a market, or all markets. */
  function isRead(marketId: string | null): boolean {
    return lastMarkets === null || (marketId !== null && lastMarkets.has(marketId))
  }

  function latestOf({ marketId }: SummaryPace): SentState {
    const rows = new Map<string, Row>()
    for (const id of marketId === null ? entries.keys() : [marketId]) {
      const entry = entries.get(id)
      if (entry !== undefined) rows.set(id, entry.row)
    }
    return { reading: lastReading, id: encodeSummaryId(marketId, lastName), rows, whole: null }
  }

  /** A state as text, or only its markets that have changed since a reading. */
  function textSince(sent: SentState, reading: number | undefined): readonly Buffer[] {
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
    // A reading that began before the group may have dropped a market: it counts as changed.
    const changed = [...rows].filter(([market]) => (entries.get(market)?.changedAt ?? Infinity) > since)
    return textOf(changed.map(([, row]) => row))
  }

  async function look(): Promise<void> {
    if (nextAt() <= performance.now()) {
      if (isStale) await reads.fresh()
      const now = performance.now()
      const due = [...groups.values()].filter(
        ({ sent, sentAt, everyMs }) => sent !== null && sentAt + everyMs <= now,
      )
      await Promise.all(due.map((group) => sendChanges(group, now)))
    }
    clearTimeout(timer)
    const wait = nextAt() - performance.now()
    if (wait === Number.POSITIVE_INFINITY) return
    // The next pull repeats and reports a failed reading.
    timer = setTimeout(() => looks.fresh().catch(() => {}), Math.max(wait, 1)).unref()
  }

  /** The next time at which a group may be due, by `performance.now()`. */
  function nextAt(): number {
    const times = [...groups.values()].flatMap(({ sent, sentAt, everyMs }) =>
      sent !== null && (isStale || sent.reading !== lastReading) ? [sentAt + everyMs] : [],
    )
    return Math.max(Math.min(...times), isStale ? readAt + READ_INTERVAL_MS : 0)
  }

  async function sendChanges(group: Group, now: number): Promise<void> {
    const before = group.sent!.rows
    const sent = latestOf(group)
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

  async function readChanges(): Promise<void> {
    isStale = false
    readAt = performance.now()
    const followed = [...groups.values()].map(({ marketId }) => marketId)
    const markets = followed.includes(null) ? null : new Set(followed as string[])
    try {
      const answers = await ask(markets)
      if (!take(answers, markets)) isStale = true
    } catch (error) {
      isStale = true
      throw error
    }
  }

  /** Reads the changes of known markets, and the whole summaries of new ones. */
  async function ask(markets: ReadonlySet<string> | null): Promise<ChangedSummaries[]> {
    const answers: ChangedSummaries[] = []
    const askFor = async (some: readonly string[] | null, than: SummariesVersion | null) => {
      let after: string | null = null
      do {
        const answer: ChangedSummaries | null = await read({ markets: some, after, than })
        if (answer === null) return
        answers.push(answer)
        after = answer.reached
      } while (after !== null)
    }
    if (markets === null) {
      await askFor(null, lastMarkets === null ? lastVersion : null)
      return answers
    }
    const { true: known = [], false: added = [] } = Object.groupBy(markets, (id) => `${isRead(id)}`)
    if (known.length > 0) await askFor(known, lastVersion)
    if (added.length > 0) await askFor(added, null)
    return answers
  }

  /** Applies the answers of a reading; returns false, and ignores them, if they are older than the last ones. */
  function take(answers: readonly ChangedSummaries[], markets: ReadonlySet<string> | null): boolean {
    const [first] = answers
    // Of several replicas, one may lag behind another.
    if (first === undefined || BigInt(first.position.height) < lastHeight) return false
    const reading = lastReading + 1
    const name = nameOfReading(first)
    let isNew = name !== lastName
    for (const id of entries.keys()) if (markets?.has(id) === false) entries.delete(id)
    for (const row of answers.flatMap(({ rows }) => rows)) {
      const id = String(row[0])
      const known = entries.get(id)
      if (known !== undefined && changeNode(row, known.row) === null) continue
      entries.set(id, { row, changedAt: reading })
      isNew = true
    }
    lastMarkets = markets
    lastVersion = first.version
    lastHeight = BigInt(first.position.height)
    if (!isNew) return true
    lastReading = reading
    lastName = name
    readings.delete(name)
    readings.set(name, reading)
    if (readings.size > REMEMBERED_READINGS) readings.delete(readings.keys().next().value!)
    return true
  }

  return {
    /** A filled gap or a deletion changes summaries, but not the position. */
    awaitsGaps: true,
    ...{ pull, join, leave, keepAlive },
  } satisfies Feed
}

const paceKey = ({ marketId, everyMs }: SummaryPace) => `${marketId} ${everyMs}`
