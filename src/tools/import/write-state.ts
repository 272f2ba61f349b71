import { type EventPosition, UNKNOWN_POSITION } from '#core/domain/event-position'
import type { FundingPeriodEvent, MarketDataEvent, MarketEvent } from '#core/events/event'
import type { BatchWriter } from '#core/ingest/batch-writer'
import type { Batch } from '#core/model/batch'
import { putFundingPeriod } from '#core/resources/funding-periods/projection'
import { putMarketData } from '#core/resources/market-data/row'
import { projectEvent } from '#core/resources/projections'
import type { ImportCoverage } from './import-coverage.ts'
import type { ImportedResource } from './import-report.ts'
import { fromMicroseconds } from './reference-values.ts'
import { fundingPeriodOf } from './rows/funding-periods.ts'
import { assetOf, instrumentOf } from './rows/instruments.ts'
import { provisionOf } from './rows/liquidity.ts'
import { marketDataOf, marketFiguresOf } from './rows/market-data.ts'
import type { LeftOutRows } from './rows/row-values.ts'
import type { CurrentRow, ImportSource, SourceRow, TableQuery } from './source.ts'
import { STATE } from './tables.ts'
import type { ImportTally } from './tally.ts'

/** A row with lists takes about this many times the memory of its text. */
const LIST_WEIGHT = 4

type StateWriting = {
  source: ImportSource
  importCoverage: ImportCoverage
  batches: BatchWriter
  tally: ImportTally
  signal: AbortSignal | undefined
  onProgress: () => void
}

/** Writes a row of a table. Returns whether it counts: it is neither invalid nor of a block that is stored from events. */
type RowWriter = (row: CurrentRow) => boolean

/**
 * Writes the rows of current state. A row of a block that is stored from events is skipped, because events take precedence.
 * A row whose block the source does not have gets a position before all blocks.
 */
export async function writeState(writing: StateWriting): Promise<void> {
  await writeTable(writing, STATE.periods, 'fundingPeriods', periodWriter(writing))
  const provisions = newestWriter(writing, provisionOf, ({ provisionId }) => provisionId)
  await writeTable(writing, STATE.liveProvisions, 'liquidityProvisions', provisions)
  const data = marketDataWriter(writing, marketDataOf, projectEvent)
  await writeTable(writing, STATE.marketData, 'liquidityProviders', data)
  const figures = marketDataWriter(writing, marketFiguresOf, putMarketData)
  await writeTable(writing, STATE.marketFigures, 'marketData', figures)
  const assets = newestWriter(writing, assetOf, ({ assetId }) => assetId)
  await writeTable(writing, STATE.assets, 'instruments', assets)
  const markets = newestWriter(writing, instrumentOf, ({ marketId }) => marketId)
  await writeTable(writing, STATE.markets, 'instruments', markets)
}

/** Writes the rows of a table, if the source has it, and notes the first time of a resource's rows. */
async function writeTable(
  { source, importCoverage, batches, tally, signal, onProgress }: StateWriting,
  query: TableQuery,
  resource: ImportedResource,
  writeRow: RowWriter,
): Promise<void> {
  if (source.whyUnreadable(query) !== null) return
  for await (const rows of source.state(query)) {
    if (signal?.aborted) return
    for (const row of rows) {
      const { time } = row
      if (writeRow(row) && !Number.isNaN(time)) tally.found(resource, fromMicroseconds(time))
    }
    await batches.commitIfDue(importCoverage)
    onProgress()
  }
}

/** Gives the rows of each block positions: the indexes 1, 2, ... in the order of their keys. */
class RowPositions {
  /** The last index of each block. */
  readonly #indexes = new Map<number, number>()

  /** The position of the next row of a block. `height` is null if the block is unknown. */
  next(height: number | null): EventPosition {
    if (height === null) return UNKNOWN_POSITION
    const index = (this.#indexes.get(height) ?? 0) + 1
    this.#indexes.set(height, index)
    return { height: BigInt(height), index }
  }
}

/** Whether a row's block is stored from events; false if the source does not have the block. */
function isFromEvents(importCoverage: ImportCoverage, height: number | null): boolean {
  return height !== null && importCoverage.isFromEvents(BigInt(height))
}

/**
 * A period is from two events, its first and its last, which may be the same. If the block of one is stored from events,
 * its position is dropped, so that it replaces nothing.
 */
function periodWriter({ importCoverage, batches, tally }: StateWriting): RowWriter {
  const positions = new RowPositions()
  let before: { event: FundingPeriodEvent; height: number | null } | null = null
  return ({ row, height, heightOfSecond }) => {
    const event = fundingPeriodOf(row, tally.leaveOut)
    if (event === null) return false
    const startHeight = startOfPeriod(event, height, heightOfSecond, before)
    before = { event, height }
    const last = positions.next(height)
    const start = startHeight === height ? last : positions.next(startHeight)
    const isLastFromEvents = isFromEvents(importCoverage, height)
    const isStartFromEvents = isFromEvents(importCoverage, startHeight)
    if (isLastFromEvents && isStartFromEvents) return false
    const from = isStartFromEvents ? UNKNOWN_POSITION : start
    const to = isLastFromEvents ? UNKNOWN_POSITION : last
    batches.change(0, (batch) => putFundingPeriod(batch, event, from, to))
    return true
  }
}

/**
 * The block in which a period starts. For a running period it is that of its only event; otherwise the block in which the
 * previous period ends, or if that is unknown the only block in the second in which the period starts.
 */
function startOfPeriod(
  { marketId, seq, start, end }: FundingPeriodEvent,
  height: number | null,
  heightOfSecond: number | null,
  before: { event: FundingPeriodEvent; height: number | null } | null,
): number | null {
  if (end === null) return height
  const previous = before?.event
  const follows = previous?.marketId === marketId && previous.seq + 1n === seq && previous.end === start
  return follows ? before!.height : heightOfSecond
}

/** Writes market data, whose positions are known. */
function marketDataWriter(
  { importCoverage, batches, tally }: StateWriting,
  dataOf: (row: CurrentRow, leaveOut: LeftOutRows) => { event: MarketDataEvent; index: number } | null,
  add: (batch: Batch, event: MarketDataEvent, position: EventPosition) => void,
): RowWriter {
  return (row) => {
    const { height } = row
    const data = isFromEvents(importCoverage, height) ? null : dataOf(row, tally.leaveOut)
    if (data === null) return false
    const { event, index } = data
    const position = height === null ? UNKNOWN_POSITION : { height: BigInt(height), index }
    const weight = row.row.reduce((sum, text) => sum + LIST_WEIGHT * (text?.length ?? 0), 0)
    batches.change(weight, (batch) => add(batch, event, position))
    return true
  }
}

/** Writes the newest row of each id. Rows that are older than the imported blocks have no positions to compare. */
function newestWriter<Event extends MarketEvent>(
  { importCoverage, batches, tally }: StateWriting,
  eventOf: (row: SourceRow, leaveOut: LeftOutRows) => Event | null,
  idOf: (event: Event) => string,
): RowWriter {
  const positions = new RowPositions()
  const newest = new Map<string, number>()
  return (row) => {
    const { height, time } = row
    const position = positions.next(height)
    if (isFromEvents(importCoverage, height)) return false
    const event = eventOf(row.row, tally.leaveOut)
    if (event === null || newest.get(idOf(event))! > time) return false
    // A copy, because the text is a slice, which would retain a larger text in memory.
    newest.set(Buffer.from(idOf(event)).toString(), time)
    batches.change(0, (batch) => projectEvent(batch, event, position))
    return true
  }
}
