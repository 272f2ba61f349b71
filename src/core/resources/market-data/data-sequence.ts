import { type EventPosition, isBefore } from '../../domain/event-position.ts'
import type { MarketDataEvent } from '../../events/event.ts'
import type { Batch, MarketDataSequence, PositionedMarketData } from '../../model/batch.ts'
import { ReceivedMarketData } from './decode.ts'

/** Adds data of a market to a batch. If others have the same position, those added later count. */
export function addMarketData({ marketData }: Batch, data: PositionedMarketData): void {
  const { marketId } = data.event
  const known = marketData.get(marketId)
  if (known === undefined) marketData.set(marketId, new DataSequence(data))
  else known.add(data)
}

/**
 * The data of a market in a batch. There may be tens of thousands, and hardly any but the last are decoded: the others are
 * in columns, without objects, which the garbage collector would move again and again.
 */
class DataSequence implements MarketDataSequence {
  #last: PositionedMarketData
  #highestSeq: bigint | null
  readonly #earlier = new DataColumns()
  /** Those that were added after later ones, in the order in which they were added. */
  readonly #late: PositionedMarketData[] = []

  constructor(only: PositionedMarketData) {
    this.#last = only
    this.#highestSeq = only.event.highestSeq ?? null
  }

  get last(): PositionedMarketData {
    return this.#last
  }

  get first(): EventPosition {
    if (this.#late.length > 0) return this.#inOrder()[0]!
    return this.#earlier.length > 0 ? this.#earlier.positionAt(0) : this.#last
  }

  get highestSeq(): bigint | null {
    return this.#highestSeq
  }

  add(data: PositionedMarketData): void {
    const { highestSeq } = data.event
    if (highestSeq === undefined || this.#highestSeq === null) this.#highestSeq = null
    else if (highestSeq > this.#highestSeq) this.#highestSeq = highestSeq
    if (isBefore(data, this.#last)) {
      this.#late.push(data)
    } else {
      this.#earlier.push(this.#last)
      this.#last = data
    }
  }

  *earlier(): Generator<PositionedMarketData> {
    if (this.#late.length === 0) {
      const { marketId } = this.#last.event
      for (let at = this.#earlier.length - 1; at >= 0; at--) yield this.#earlier.dataAt(at, marketId)
    } else {
      yield* this.#inOrder().reverse()
    }
  }

  /** All but the last, if some were added late. Of two with one position the one that was added later comes later. */
  #inOrder(): PositionedMarketData[] {
    const { marketId } = this.#last.event
    const inTime = Array.from({ length: this.#earlier.length }, (_, at) => this.#earlier.dataAt(at, marketId))
    return [...inTime, ...this.#late].sort((a, b) => (isBefore(a, b) ? -1 : Number(isBefore(b, a))))
  }
}

/** Data of one market, in columns. */
class DataColumns {
  readonly #heights: bigint[] = []
  readonly #indexes: number[] = []
  /** The bytes in which received data lie, or the data themselves, if they were never bytes: imported ones. */
  readonly #sources: (Buffer | MarketDataEvent)[] = []
  readonly #starts: number[] = []
  readonly #ends: number[] = []

  get length(): number {
    return this.#sources.length
  }

  push({ event, height, index }: PositionedMarketData): void {
    this.#heights.push(height)
    this.#indexes.push(index)
    if (event instanceof ReceivedMarketData) {
      const { bytes, start, end } = event.body
      this.#pushSource(bytes, start, end)
    } else {
      this.#pushSource(event, 0, 0)
    }
  }

  #pushSource(source: Buffer | MarketDataEvent, start: number, end: number): void {
    this.#sources.push(source)
    this.#starts.push(start)
    this.#ends.push(end)
  }

  positionAt(at: number): EventPosition {
    return { height: this.#heights[at]!, index: this.#indexes[at]! }
  }

  dataAt(at: number, marketId: string): PositionedMarketData {
    return { height: this.#heights[at]!, index: this.#indexes[at]!, event: this.#eventAt(at, marketId) }
  }

  #eventAt(at: number, marketId: string): MarketDataEvent {
    const source = this.#sources[at]!
    if (!Buffer.isBuffer(source)) return source
    const body = { bytes: source, start: this.#starts[at]!, end: this.#ends[at]! }
    return new ReceivedMarketData(marketId, body)
  }
}
