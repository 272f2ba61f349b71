import { type Coverage, isWithin } from '#core/domain/coverage'
import { advance, type Lacks } from '#core/domain/lacks'
import { BEGINNING, type Place } from '#core/domain/place'
import type { Resource, Selection } from '#core/resources/resource'
import type { ArrivalQuery, Arrivals, ArrivedRow, Pass } from '#core/store/readings/arrivals'
import { eventText, MAX_PIECE_BYTES } from './follower.ts'
import type { Lane } from './reading-turns.ts'
import { encodeStreamCursor } from './stream-cursor.ts'

/** Rows that are sent at a time, at most; fewer if they are long. */
const CHUNK_ROWS = 500

/** Reads rows by when they came, once it is their turn; null if the store does not hold as much. */
export type ReadArrivals = (query: ArrivalQuery, lane: Lane) => Promise<Arrivals | null>

/** The next events of a stream. */
export type Chunk = {
  bytes: Buffer
  /** The coverage when the chunk was read. */
  coverage: Coverage
  /** The ranges missing after it. */
  lacks: Lacks
  /** A reading that is to be continued with the next chunk; null if none is. */
  pass: Pass | null
  /** Whether all that the store holds has been read. */
  isLast: boolean
}

/** Reads the missing ranges of a stream as text, in pieces of a bounded length. */
export class ChunkReader {
  readonly #resource: Resource
  readonly #selection: Selection
  readonly #read: ReadArrivals
  /** Rows of the present length that make a piece. */
  #limit = CHUNK_ROWS

  constructor(resource: Resource, selection: Selection, read: ReadArrivals) {
    this.#resource = resource
    this.#selection = selection
    this.#read = read
  }

  cursorOf(lacks: Lacks): string {
    return encodeStreamCursor(this.#resource, this.#selection, lacks)
  }

  /** The store's coverage; null if it is empty. */
  async coverage(): Promise<Coverage | null> {
    const lacks: Lacks = { first: 0n, gaps: [], tail: BEGINNING }
    const query = { resource: this.#resource, selection: this.#selection, lacks }
    return (await this.#read({ ...query, asOf: null, limit: 0, pass: null }, 'live'))?.coverage ?? null
  }

  /**
   * Reads one chunk of the missing ranges; null if they are not available.
   *
   * @param asOf the coverage to which the pass belongs, if one is continued
   */
  async read(lane: Lane, lacks: Lacks, asOf: Coverage | null, pass: Pass | null): Promise<Chunk | null> {
    const query = { resource: this.#resource, selection: this.#selection, lacks, asOf }
    const arrivals = await this.#read({ ...query, limit: this.#limit, pass }, lane)
    if (arrivals === null) return null
    const { coverage } = arrivals
    const { bytes, cutAfter } = this.#textOf(arrivals.rows, lacks, coverage)
    const reached = cutAfter === null ? arrivals.reached : endOf(cutAfter, coverage)
    return {
      bytes,
      coverage,
      lacks: advance(lacks, coverage, reached),
      pass: arrivals.pass,
      isLast: reached === null,
    }
  }

  /** The text of rows; `cutAfter`: the position of the last of them, if the piece ends early. */
  #textOf(
    rows: readonly ArrivedRow[],
    lacks: Lacks,
    coverage: Coverage,
  ): { bytes: Buffer; cutAfter: Place | null } {
    const pieces: string[] = []
    let bytes = 0
    for (const [index, { row, place }] of rows.entries()) {
      // One event may produce several rows, such as the providers in a market's list: only the last of them completes
      // the event, and no piece ends between them.
      const [before, next] = [rows[index - 1]?.place, rows[index + 1]?.place]
      const isLast = next === undefined || !isTogether(place, next, coverage)
      const upTo = isLast ? endOf(place, coverage) : { height: place.height, index: place.index - 1 }
      const id = this.cursorOf(advance(lacks, coverage, upTo))
      const text = eventText(this.#resource, id, this.#resource.node(row, this.#selection))
      bytes += Buffer.byteLength(text)
      if (bytes > MAX_PIECE_BYTES && before !== undefined && !isTogether(before, place, coverage)) {
        this.#limit = index
        return { bytes: Buffer.from(pieces.join('')), cutAfter: before }
      }
      pieces.push(text)
    }
    if (bytes < MAX_PIECE_BYTES / 2) this.#limit = Math.min(CHUNK_ROWS, 2 * this.#limit)
    return { bytes: Buffer.from(pieces.join('')), cutAfter: null }
  }
}

/**
 * Whether a row stands with the one before: both come from one event, or from one imported block, within which the places
 * of rows are made up. No cursor points between such rows.
 */
const isTogether = (a: Place, b: Place, { imported }: Coverage) =>
  a.height === b.height && (a.index === b.index || isWithin(imported, a.height))

/** The place up to which all has been had with the last row of an event, or of an imported block. */
const endOf = ({ height, index }: Place, { imported }: Coverage): Place =>
  isWithin(imported, height) ? { height: height + 1n, index: 0 } : { height, index }
