import { setTimeout as sleep } from 'node:timers/promises'
import { keyOf } from '../resources/key.ts'
import type { Key } from '../resources/resource.ts'
import type { Page, PageQuery } from '../store/store.ts'
import type { FeedOptions } from './arrival-feed.ts'
import { eventText, type Feed, type Follower, idText, type Start } from './feed.ts'
import { encodeStreamCursor, MAX_HASHES, rowHash } from './stream-cursor.ts'

/** Rows that are read at a time. */
const CHUNK_ROWS = 5_000

/** How long is waited for a store that is empty, milliseconds. */
const EMPTY_WAIT_MS = 500

/** A row as it is now, by its key. */
type CurrentRow = { node: string; hash: string }

/**
 * The feed of a resource whose rows are changed in place, and keep nothing of when: it looks at all rows of the
 * selection, and sends those that are not as they were. A cursor holds a hash of each row that the follower has, so
 * that nothing comes again which has not changed, after a restart of the service too.
 */
export function createStateFeed(
  { resource, selection }: FeedOptions,
  readPage: (query: PageQuery) => Promise<Page>,
): Feed {
  const followers = new Set<Follower>()
  /** In the order of their keys; null before the first look. */
  let rows: Map<string, CurrentRow> | null = null
  let height = 0n
  let pulling: Promise<void> | null = null

  function cursorOf(hashes: ReadonlySet<string>, upTo: bigint): string {
    const kept = hashes.size > MAX_HASHES ? null : hashes
    return encodeStreamCursor(resource, selection, { height: upTo, rows: kept })
  }

  async function readAll(): Promise<{ rows: Map<string, CurrentRow>; height: bigint } | null> {
    const found = new Map<string, CurrentRow>()
    let cursor: Key | null = null
    for (;;) {
      const page = await readPage({ resource, selection, descending: false, cursor, limit: CHUNK_ROWS })
      if (page.position === null) return null
      for (const row of page.rows) {
        const node = resource.node(row, selection)
        cursor = keyOf(resource, row)
        found.set(cursor.join(' '), { node, hash: rowHash(node) })
      }
      if (!page.more) return { rows: found, height: BigInt(page.position.height) }
    }
  }

  /** The events that lead from rows that a follower has to the rows that there are. */
  function difference(hashes: Set<string>, had: bigint, now: Map<string, CurrentRow>): string {
    let text = ''
    for (const { node, hash } of now.values()) {
      if (hashes.has(hash)) continue
      hashes.add(hash)
      text += eventText(resource, cursorOf(hashes, had), node)
    }
    return text
  }

  /** The hashes of those rows that are there still as a follower has them. */
  function keptOf(hashes: ReadonlySet<string>, now: Map<string, CurrentRow>): Set<string> {
    return new Set([...now.values()].flatMap(({ hash }) => (hashes.has(hash) ? [hash] : [])))
  }

  async function pullAll(): Promise<void> {
    const found = await readAll()
    // A replica may lag behind what another one has told.
    if (found === null || found.height < height) return
    const before = rows
    rows = found.rows
    if (before !== null) {
      const had = new Set([...before.values()].map(({ hash }) => hash))
      const text = difference(keptOf(had, rows), height, rows)
      if (text !== '') {
        const bytes = Buffer.from(text)
        for (const follower of [...followers]) follower.send(bytes)
      }
    }
    height = found.height
  }

  function pull(): Promise<void> {
    pulling ??= pullAll().finally(() => {
      pulling = null
    })
    return pulling
  }

  /** The cursor of one who has all rows. */
  function cursorOfAll(): string {
    return cursorOf(new Set([...rows!.values()].map(({ hash }) => hash)), height)
  }

  return {
    pull,
    join: async (follower, start) => {
      await pull()
      while (!follower.isClosed && (rows === null || isAhead(start, height))) {
        await sleep(EMPTY_WAIT_MS)
        await pull()
      }
      if (follower.isClosed) return
      if (start !== 'now' && 'height' in start) {
        // Without hashes it is not known which rows have changed since: all of them may have.
        const isLevel = start.rows === null && start.height === height
        const hashes = keptOf(start.rows ?? new Set(), rows!)
        const text = isLevel ? '' : difference(hashes, start.height, rows!)
        if (text !== '') follower.send(Buffer.from(text))
      }
      followers.add(follower)
      follower.send(Buffer.from(idText(cursorOfAll())))
    },
    leave: (follower) => {
      followers.delete(follower)
    },
    awaitsGaps: false,
    keepAlive: () => {
      if (rows === null) return
      const bytes = Buffer.from(`: \n${idText(cursorOfAll())}`)
      for (const follower of [...followers]) follower.send(bytes)
    },
  }
}

/** Whether a follower has had more than there is here. */
function isAhead(start: Start, height: bigint): boolean {
  return start !== 'now' && 'height' in start && start.height > height
}
