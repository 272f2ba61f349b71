import type { EventPosition } from '#core/domain/event-position'
import type { Batch } from '#core/model/batch'
import { compareResourceKeys, type Key } from '#core/model/resource'
import { projectEvent } from '#core/resources/projections'
import type { ImportedResource } from './import-report.ts'
import { fromMicroseconds } from './reference-values.ts'
import { checkpointOf } from './rows/checkpoints.ts'
import { fundingPaymentOf } from './rows/funding-payments.ts'
import { dataPointOf } from './rows/funding-periods.ts'
import { epochEndOf, paidFeesOf, provisionOf } from './rows/liquidity.ts'
import { marketDataOf } from './rows/market-data.ts'
import type { LeftOutRows } from './rows/row-values.ts'
import type { SourceBlock, SourceRow } from './source.ts'
import type { HISTORY } from './tables.ts'
import type { ImportTally } from './tally.ts'

/** The rows of history of one block, by table. */
export type BlockRows = Record<keyof typeof HISTORY, readonly SourceRow[]>

/**
 * Adds a source's block to a batch. Checkpoints have their positions in the stream. Of all other rows only the block is
 * known: they get the indexes 1, 2, ... in the order of their keys.
 */
export function writeBlock(batch: Batch, block: SourceBlock, rows: BlockRows, tally: ImportTally): void {
  batch.blocks++
  const height = BigInt(block.height)
  const timestamp = fromMicroseconds(block.time)
  const arriving = { timestamp, events: [] }
  const decode = <Decoded>(
    table: keyof BlockRows,
    of: (row: SourceRow, leaveOut: LeftOutRows) => Decoded | null,
  ): Decoded[] => rows[table].flatMap((row) => of(row, tally.leaveOut) ?? [])
  /** Adds decoded rows in the order of their keys. */
  const add = <Decoded>(
    resource: ImportedResource,
    decoded: Decoded[],
    keyOf: (one: Decoded) => Key,
    write: (one: Decoded, position: EventPosition) => void,
  ) => {
    decoded.sort((a, b) => compareResourceKeys(keyOf(a), keyOf(b)))
    for (const [at, one] of decoded.entries()) write(one, { height, index: at + 1 })
    if (decoded.length > 0) tally.found(resource, timestamp)
  }
  add(
    'checkpoints',
    decode('checkpoints', checkpointOf),
    () => [],
    ({ event, index }) => projectEvent(batch, event, { height, index }, arriving),
  )
  add(
    'fundingPeriodDataPoints',
    decode('points', dataPointOf),
    ({ marketId, source, timestamp, seq }) => [marketId, BigInt(source), timestamp, seq],
    (point, position) => projectEvent(batch, point, position),
  )
  const payments = decode('payments', fundingPaymentOf)
  const losing = { timestamp, events: payments.map(({ loss }) => ({ event: loss })) }
  add(
    'fundingPayments',
    payments,
    ({ loss }) => [loss.marketId, loss.partyId],
    ({ payment, loss }, position) => {
      projectEvent(batch, payment, position, losing)
      projectEvent(batch, loss, position, losing)
    },
  )
  add(
    'liquidityProvisions',
    decode('provisions', provisionOf),
    ({ provisionId }) => [provisionId],
    (provision, position) => projectEvent(batch, provision, position),
  )
  const ends = decode('epochs', epochEndOf)
  const fees = decode('paidFees', paidFeesOf)
  if (fees.length > 0) tally.found('paidLiquidityFees', timestamp)
  if (ends.length === 0) {
    const events = fees.map((event) => ({ event }))
    for (const [at, event] of fees.entries())
      projectEvent(batch, event, { height, index: at + 1 }, { timestamp, events }, at)
    return
  }
  const data = decode('epochData', (row, leaveOut) => marketDataOf({ row }, leaveOut))
  data.sort((a, b) => a.index - b.index)
  // The core ends an epoch at the beginning of a block.
  const after = [...fees, ...data.map(({ event }) => event)].map((event) => ({ event }))
  for (const [at, end] of ends.entries()) {
    const events = [{ event: end }, ...after]
    projectEvent(batch, end, { height, index: at + 1 }, { timestamp, events })
  }
  if (data.length > 0) tally.found('liquidityProviderHistory', timestamp)
}
