import type { Batch } from '#core/model/batch'
import { compareResourceKeys, type Key } from '#core/model/resource'
import { projectEvent } from '#core/resources/projections'
import { fromMicroseconds } from './reference-values.ts'
import { checkpointOf } from './rows/checkpoints.ts'
import { epochOf } from './rows/epochs.ts'
import { fundingPaymentOf } from './rows/funding-payments.ts'
import { dataPointOf } from './rows/funding-periods.ts'
import { paidFeesOf, provisionOf } from './rows/liquidity.ts'
import { marketDataOf } from './rows/market-data.ts'
import type { LeftOutRows } from './rows/row-values.ts'
import type { SourceBlock, SourceRow } from './source.ts'
import type { HISTORY } from './tables.ts'
import type { ImportTally } from './tally.ts'

/** The rows of history of one block, by table; null if the source has no such table. */
export type BlockRows = Record<keyof typeof HISTORY, readonly SourceRow[] | null>

/** A block that is added to a batch; `timestamp` in Unix nanoseconds. */
type BlockWriting = { batch: Batch; height: bigint; timestamp: bigint; tally: ImportTally }

/**
 * Adds a source's block to a batch. Checkpoints have their positions in the stream. Of all other rows only the block is
 * known: they get the indexes 1, 2, ... in the order of their keys.
 */
export function writeBlock(batch: Batch, block: SourceBlock, rows: BlockRows, tally: ImportTally): void {
  batch.blocks++
  const height = BigInt(block.height)
  const writing: BlockWriting = { batch, height, timestamp: fromMicroseconds(block.time), tally }
  writeCheckpoints(writing, rows.checkpoints)
  writePoints(writing, rows.points)
  writePayments(writing, rows.payments)
  writeProvisions(writing, rows.provisions)
  writeEpochs(writing, rows)
}

function writeCheckpoints(
  { batch, height, timestamp, tally }: BlockWriting,
  rows: readonly SourceRow[] | null,
): void {
  const checkpoints = decoded(rows, checkpointOf, tally)
  for (const { event, index } of checkpoints) {
    projectEvent(batch, event, { height, index }, { timestamp, events: [] })
  }
  if (checkpoints.length > 0) tally.found('checkpoints', timestamp)
}

function writePoints(
  { batch, height, timestamp, tally }: BlockWriting,
  rows: readonly SourceRow[] | null,
): void {
  const points = decoded(rows, dataPointOf, tally)
  sortByKey(points, (point) => [point.marketId, BigInt(point.source), point.timestamp, point.seq])
  for (const [at, point] of points.entries()) projectEvent(batch, point, { height, index: at + 1 })
  if (points.length > 0) tally.found('fundingPeriodDataPoints', timestamp)
}

function writePayments(
  { batch, height, timestamp, tally }: BlockWriting,
  rows: readonly SourceRow[] | null,
): void {
  const payments = decoded(rows, fundingPaymentOf, tally)
  sortByKey(payments, ({ loss }) => [loss.marketId, loss.partyId])
  const block = {
    timestamp,
    events: payments.flatMap(({ payment, loss }) => [{ event: payment }, { event: loss }]),
  }
  for (const [at, { payment }] of payments.entries())
    projectEvent(batch, payment, { height, index: at + 1 }, block, 2 * at)
  if (payments.length > 0) tally.found('fundingPayments', timestamp)
}

function writeProvisions(
  { batch, height, timestamp, tally }: BlockWriting,
  rows: readonly SourceRow[] | null,
): void {
  const provisions = decoded(rows, provisionOf, tally)
  sortByKey(provisions, ({ provisionId }) => [provisionId])
  for (const [at, provision] of provisions.entries()) {
    projectEvent(batch, provision, { height, index: at + 1 })
  }
  if (provisions.length > 0) tally.found('liquidityProvisions', timestamp)
}

/**
 * Writes the epochs that end and start in a block: first each end, with the market data that follow in the block, or the fees
 * that were paid without one, and then the starts.
 */
function writeEpochs(writing: BlockWriting, rows: BlockRows): void {
  const { batch, height, timestamp, tally } = writing
  const epochs = decoded(rows.epochs, epochOf, tally)
  if (epochs.length > 0) tally.found('epochs', timestamp)
  const ends = epochs.filter(({ action }) => action === 'end')
  const starts = epochs.filter(({ action }) => action === 'start')
  for (const [at, start] of starts.entries()) {
    projectEvent(batch, start, { height, index: ends.length + at + 1 })
  }
  const fees = decoded(rows.paidFees, paidFeesOf, tally)
  if (fees.length > 0) {
    tally.found('paidLiquidityFeesStats', timestamp)
    if (rows.epochs !== null) tally.found('paidLiquidityFees', timestamp)
  }
  // Without a table of epochs it is unknown which fees are of an epoch that ends in the block.
  const block = {
    timestamp,
    events: [...fees, ...ends].map((event) => ({ event })),
    isIncomplete: rows.epochs === null,
  }
  for (const [at, event] of fees.entries())
    projectEvent(batch, event, { height, index: epochs.length + at + 1 }, block, at)
  if (ends.length === 0) return
  const data = decoded(rows.epochData, (row, leaveOut) => marketDataOf({ row }, leaveOut), tally)
  data.sort((a, b) => a.index - b.index)
  // The core ends an epoch at the beginning of a block.
  const after = [...fees, ...data.map(({ event }) => event)].map((event) => ({ event }))
  for (const [at, end] of ends.entries()) {
    const events = [{ event: end }, ...after]
    projectEvent(batch, end, { height, index: at + 1 }, { timestamp, events })
  }
  if (data.length > 0) tally.found('liquidityProviderHistory', timestamp)
}

/** The decoded rows of a table, without those that are left out. */
function decoded<Decoded>(
  rows: readonly SourceRow[] | null,
  decode: (row: SourceRow, leaveOut: LeftOutRows) => Decoded | null,
  tally: ImportTally,
): Decoded[] {
  return rows?.flatMap((row) => decode(row, tally.leaveOut) ?? []) ?? []
}

function sortByKey<Decoded>(all: Decoded[], keyOf: (one: Decoded) => Key): void {
  all.sort((a, b) => compareResourceKeys(keyOf(a), keyOf(b)))
}
