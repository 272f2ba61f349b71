import { type Place, UNPLACED } from '#core/domain/place'
import type { FundingPeriodEvent, MarketDataEvent, MarketEvent } from '#core/events/event'
import type { BatchWriter } from '#core/ingest/batch-writer'
import { projectEvent } from '#core/resources/arrivals'
import type { Batch } from '#core/resources/batch'
import { putFundingPeriod } from '#core/resources/funding-periods/arrival'
import { putMarketData } from '#core/resources/market-data/row'
import {
  assetOf,
  fundingPeriodOf,
  instrumentOf,
  type LeftOutRows,
  marketDataOf,
  marketFiguresOf,
  provisionOf,
} from './decode-rows.ts'
import type { ImportCoverage } from './import-coverage.ts'
import type { ImportedResource } from './import-report.ts'
import { fromMicroseconds } from './reference-values.ts'
import type { CurrentRow, ImportSource, SourceRow, TableQuery } from './source.ts'
import { STATE } from './tables.ts'
import type { ImportTally } from './tally.ts'

/** Approximate memory of a row with lists. */
const LIST_WEIGHT = 4

export type StateWriting = {
  source: ImportSource
  held: ImportCoverage
  batches: BatchWriter
  tally: ImportTally
  signal: AbortSignal | undefined
  onProgress: () => void
}

/**
 * Writes the rows of current state. A row of a block that is stored from events is skipped, since events take precedence;
 * one whose block the source does not have gets a place before all blocks.
 */
export async function writeState(writing: StateWriting): Promise<void> {
  const { batches, tally } = writing
  const write = async (query: TableQuery, resource: ImportedResource, keep: (row: CurrentRow) => boolean) => {
    if (writing.source.lacks(query) !== null) return
    for await (const rows of writing.source.state(query)) {
      if (writing.signal?.aborted) return
      for (const row of rows) {
        const [time] = row.times
        if (keep(row) && !Number.isNaN(time)) tally.found(resource, fromMicroseconds(time!))
      }
      await batches.commitIfDue(writing.held)
      writing.onProgress()
    }
  }
  await write(STATE.periods, 'fundingPeriods', periodWriter(writing))
  await write(
    STATE.liveProvisions,
    'liquidityProvisions',
    newestWriter(writing, provisionOf, ({ provisionId }) => provisionId),
  )
  await write(STATE.marketData, 'liquidityProviders', marketDataWriter(writing, marketDataOf, projectEvent))
  await write(STATE.marketFigures, 'marketData', marketDataWriter(writing, marketFiguresOf, putMarketData))
  await write(
    STATE.assets,
    'instruments',
    newestWriter(writing, assetOf, ({ assetId }) => assetId),
  )
  await write(
    STATE.markets,
    'instruments',
    newestWriter(writing, instrumentOf, ({ marketId }) => marketId),
  )
}

/** Counts the rows of each block: in the order of their key they get the numbers from 1 on. */
class PlaceCounter {
  readonly #counts = new Map<number, number>()

  next(height: number | null): Place {
    if (height === null) return UNPLACED
    const index = (this.#counts.get(height) ?? 0) + 1
    this.#counts.set(height, index)
    return { height: BigInt(height), index }
  }
}

/** Whether a row's block is stored from events, if the source has the block. */
function isFromEvents(held: ImportCoverage, height: number | null | undefined): boolean {
  return height != null && held.isFromEvents(BigInt(height))
}

/**
 * A period comes from two events, its first and its last, which may be the same. If the block of one is stored
 * from events, its place is dropped, so that it replaces nothing.
 */
function periodWriter({ held, batches, tally }: StateWriting) {
  const places = new PlaceCounter()
  let before: { event: FundingPeriodEvent; height: number | null } | null = null
  return (row: CurrentRow): boolean => {
    const [height, ofSecond] = row.heights as [number | null, number | null]
    const event = fundingPeriodOf(row.row, tally.leaveOut)
    if (event === null) return false
    const startHeight = startOfPeriod(event, height, ofSecond, before)
    before = { event, height }
    const last = places.next(height)
    const start = startHeight === height ? last : places.next(startHeight)
    const isLastFromEvents = isFromEvents(held, height)
    const isStartFromEvents = isFromEvents(held, startHeight)
    if (isLastFromEvents && isStartFromEvents) return false
    const from = isStartFromEvents ? UNPLACED : start
    const to = isLastFromEvents ? UNPLACED : last
    batches.change(0, (batch) => putFundingPeriod(batch, event, from, to))
    return true
  }
}

/**
 * The block in which a period starts: for a running one that of its only event; otherwise the block in which the previous
 * period ends, or else the only block of the second in which it starts.
 */
function startOfPeriod(
  { marketId, seq, start, end }: FundingPeriodEvent,
  height: number | null,
  ofSecond: number | null,
  before: { event: FundingPeriodEvent; height: number | null } | null,
): number | null {
  if (end === null) return height
  const previous = before?.event
  const follows = previous?.marketId === marketId && previous.seq + 1n === seq && previous.end === start
  return follows ? before!.height : ofSecond
}

/** Keeps the newest row of each id: rows from before the imported blocks have no positions to compare. */
class Newest {
  readonly #times = new Map<string, number>()

  isNewest(id: string, time: number): boolean {
    const known = this.#times.get(id)
    if (known !== undefined && known > time) return false
    // A copy, because the text is a slice that would keep a larger one in memory.
    this.#times.set(Buffer.from(id).toString(), time)
    return true
  }
}

/** Writes market data, whose places are known. */
function marketDataWriter(
  { held, batches, tally }: StateWriting,
  dataOf: (row: CurrentRow, leaveOut: LeftOutRows) => { event: MarketDataEvent; index: number } | null,
  add: (batch: Batch, event: MarketDataEvent, place: Place) => void,
) {
  return (row: CurrentRow): boolean => {
    const [height = null] = row.heights
    const data = isFromEvents(held, height) ? null : dataOf(row, tally.leaveOut)
    if (data === null) return false
    const { event, index } = data
    const place = height === null ? UNPLACED : { height: BigInt(height), index }
    const weight = row.row.reduce((sum, text) => sum + LIST_WEIGHT * (text?.length ?? 0), 0)
    batches.change(weight, (batch) => add(batch, event, place))
    return true
  }
}

/** Writes the newest row of each id. */
function newestWriter<Event extends MarketEvent>(
  { held, batches, tally }: StateWriting,
  eventOf: (row: SourceRow, leaveOut: LeftOutRows) => Event | null,
  idOf: (event: Event) => string,
) {
  const places = new PlaceCounter()
  const newest = new Newest()
  return (row: CurrentRow): boolean => {
    const [height = null] = row.heights
    const place = places.next(height)
    if (isFromEvents(held, height)) return false
    const event = eventOf(row.row, tally.leaveOut)
    if (event === null || !newest.isNewest(idOf(event), row.times[0]!)) return false
    batches.change(0, (batch) => projectEvent(batch, event, place))
    return true
  }
}
