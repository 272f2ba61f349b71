import { keyOf } from '../resources/key.ts'
import type { Key } from '../resources/resource.ts'
import type { Page, PageQuery } from '../store/store.ts'
import type { FeedOptions } from './arrival-feed.ts'
import {
  allDrained,
  createPulls,
  eventText,
  type Feed,
  type Follower,
  idText,
  MAX_PIECE_BYTES,
  type Start,
  sendToAll,
} from './feed.ts'
import { encodeStreamCursor, MAX_HASHES, rowHash } from './stream-cursor.ts'

/** Rows that are read at a time. */
const CHUNK_ROWS = 1_000

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
  const pulls = createPulls(pullAll)

  function cursorOf(hashes: ReadonlySet<string>, upTo: bigint): string {
    const kept = hashes.size > MAX_HASHES ? null : hashes
    return encodeStreamCursor(resource, selection, { height: upTo, rows: kept })
  }

  async function readAll(): Promise<{ rows: Map<string, CurrentRow>; height: bigint } | null> {
    const found = new Map<string, CurrentRow>()
    let cursor: Key | null = null
    // Pages that follow may be of later blocks.
    let from: bigint | null = null
    for (;;) {
      const page = await readPage({ resource, selection, descending: false, cursor, limit: CHUNK_ROWS })
      if (page.position === null) return null
      from ??= BigInt(page.position.height)
      for (const row of page.rows) {
        const node = resource.node(row, selection)
        cursor = keyOf(resource, row)
        found.set(cursor.join(' '), { node, hash: rowHash(node) })
      }
      if (!page.more) return { rows: found, height: from }
    }
  }

  /**
   * The first of the events that lead from rows that a follower has to the rows that there are, whose hashes are
   * added; null where it has all.
   */
  function nextPiece(hashes: Set<string>, had: bigint, now: Map<string, CurrentRow>): Buffer | null {
    const pieces: string[] = []
    let bytes = 0
    for (const { node, hash } of now.values()) {
      if (hashes.has(hash)) continue
      hashes.add(hash)
      const text = eventText(resource, cursorOf(hashes, had), node)
      bytes += Buffer.byteLength(text)
      if (bytes > MAX_PIECE_BYTES && pieces.length > 0) {
        hashes.delete(hash)
        break
      }
      pieces.push(text)
    }
    return pieces.length === 0 ? null : Buffer.from(pieces.join(''))
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
    const had = height
    rows = found.rows
    height = found.height
    if (before === null) return
    const hashes = keptOf(new Set([...before.values()].map(({ hash }) => hash)), rows)
    // Those who join while pieces are waited for have all rows already.
    const behind = [...followers]
    for (let piece = nextPiece(hashes, had, rows); piece !== null; ) {
      sendToAll(behind, piece)
      piece = nextPiece(hashes, had, rows)
      if (piece !== null) await allDrained(behind)
    }
  }

  /** The cursor of one who has all rows. */
  function cursorOfAll(): string {
    return cursorOf(new Set([...rows!.values()].map(({ hash }) => hash)), height)
  }

  return {
    pull: pulls.pull,
    join: async (follower, start) => {
      await pulls.pull()
      while (!follower.isClosed && (rows === null || isAhead(start, height))) await pulls.pullLater()
      if (follower.isClosed) return
      if (start !== 'now' && 'height' in start) {
        // Without hashes it is not known which rows have changed since: all of them may have.
        const isLevel = start.rows === null && start.height === height
        let hashes = keptOf(start.rows ?? new Set(), rows!)
        for (;;) {
          const piece = isLevel ? null : nextPiece(hashes, start.height, rows!)
          if (piece === null) break
          follower.send(piece, 1)
          await follower.drained()
          if (follower.isClosed) return
          // Rows may have changed meanwhile.
          hashes = keptOf(hashes, rows!)
        }
      }
      followers.add(follower)
      follower.send(Buffer.from(idText(cursorOfAll())), 1)
    },
    leave: (follower) => {
      followers.delete(follower)
    },
    awaitsGaps: false,
    keepAlive: () => {
      if (rows === null) return
      // Within a pull not everyone has had all of it.
      if (pulls.isUnderWay) sendToAll(followers, Buffer.from(': \n\n'))
      else sendToAll(followers, Buffer.from(`: \n${idText(cursorOfAll())}`))
    },
  }
}

/** Whether a follower has had more than there is here. */
function isAhead(start: Start, height: bigint): boolean {
  return start !== 'now' && 'height' in start && start.height > height
}
