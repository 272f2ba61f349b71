import { projectEvent } from '#core/resources/arrivals'
import type { Batch } from '#core/resources/batch'
import {
  checkpointOf,
  dataPointOf,
  epochEndOf,
  fundingPaymentOf,
  marketDataOf,
  paidFeesOf,
  provisionOf,
} from './decode-rows.ts'
import { fromMicroseconds } from './reference-values.ts'
import type { SourceBlock, SourceRow } from './source.ts'
import type { ImportTally } from './tally.ts'

/** The rows of history of one block, by table. */
export type BlockRows = Record<
  'checkpoints' | 'points' | 'payments' | 'provisions' | 'epochs' | 'epochData' | 'paidFees',
  readonly SourceRow[]
>

/**
 * Adds a block of a source to a batch. Checkpoints have their places in the stream; of all else only the block is known:
 * it counts from 1 by key.
 */
export function writeBlock(batch: Batch, block: SourceBlock, rows: BlockRows, tally: ImportTally): void {
  batch.blocks++
  const height = BigInt(block.height)
  const timestamp = fromMicroseconds(block.time)
  const arriving = { timestamp, events: [] }
  for (const row of rows.checkpoints) {
    const checkpoint = checkpointOf(row, tally.leaveOut)
    if (checkpoint === null) continue
    const { event, index } = checkpoint
    projectEvent(batch, event, { height, index }, arriving)
    tally.found('checkpoints', timestamp)
  }
  const points = rows.points.flatMap((row) => dataPointOf(row, tally.leaveOut) ?? [])
  points.sort(
    (a, b) =>
      compareValues(a.marketId, b.marketId) ||
      a.source - b.source ||
      compareValues(a.timestamp, b.timestamp) ||
      compareValues(a.seq, b.seq),
  )
  for (const [index, point] of points.entries()) {
    projectEvent(batch, point, { height, index: index + 1 })
    tally.found('fundingPeriodDataPoints', timestamp)
  }
  const payments = rows.payments.flatMap((row) => fundingPaymentOf(row, tally.leaveOut) ?? [])
  payments.sort(
    (a, b) =>
      compareValues(a.payment.marketId, b.payment.marketId) || compareValues(a.loss.partyId, b.loss.partyId),
  )
  for (const [at, { payment, loss }] of payments.entries()) {
    const place = { height, index: at + 1 }
    projectEvent(batch, payment, place, arriving)
    projectEvent(batch, loss, place, arriving)
    tally.found('fundingPayments', timestamp)
  }
  const provisions = rows.provisions.flatMap((row) => provisionOf(row, tally.leaveOut) ?? [])
  provisions.sort((a, b) => compareValues(a.provisionId, b.provisionId))
  for (const [index, provision] of provisions.entries()) {
    projectEvent(batch, provision, { height, index: index + 1 })
    tally.found('liquidityProvisions', timestamp)
  }
  const ends = rows.epochs.flatMap((row) => epochEndOf(row, tally.leaveOut) ?? [])
  if (ends.length === 0) return
  const fees = rows.paidFees.flatMap((row) => paidFeesOf(row, tally.leaveOut) ?? [])
  const data = rows.epochData.flatMap((row) => marketDataOf({ row }, tally.leaveOut) ?? [])
  data.sort((a, b) => a.index - b.index)
  // The core ends an epoch at the beginning of a block.
  const after = [...fees, ...data.map(({ event }) => event)].map((event) => ({ event }))
  for (const [at, end] of ends.entries()) {
    const events = [{ event: end }, ...after]
    projectEvent(batch, end, { height, index: at + 1 }, { timestamp, events })
  }
  if (fees.length > 0) tally.found('paidLiquidityFees', timestamp)
  if (data.length > 0) tally.found('liquidityProviderHistory', timestamp)
}

function compareValues<T extends string | bigint>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0
}
