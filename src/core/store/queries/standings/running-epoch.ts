import type { Row } from '../../../model/resource.ts'
import { epochs } from '../../../resources/epochs/description.ts'
import { fromClause } from '../../pages/scan-sql.ts'
import type { Query } from '../../queries-protocol.ts'

/** The epoch that runs; what no event has set is null. */
export type RunningEpoch = {
  epoch: string
  start: bigint | null
  /** The height of the block in which it started. */
  height: bigint
  expectedEnd: bigint | null
  /** The start of the epoch before. */
  beforeStart: bigint | null
}

/** The latest two epochs; the last column is the height of the block in which each started. */
const READ_EPOCHS = `
  select cast(epoch as text), cast(start_timestamp as text), cast(expiry_timestamp as text),
    cast(end_timestamp as text), cast(end_block as text), (
      select cast(starts.height as text) from epochs as starts where starts.epoch = epoch_rows.epoch
    )
  from ${fromClause(epochs)} order by epoch_rows.epoch desc limit 2`

/**
 * Reads the running epoch; null if none is stored, or the last one has ended. The core ends every epoch as long after its expiry
 * as the one before, so that is its expected end.
 */
export function* readRunningEpoch(): Query<RunningEpoch | null> {
  const [last, before] = yield { text: READ_EPOCHS }
  if (last === undefined) return null
  const [epoch, start, expiry, , endBlock, height] = last
  if (endBlock !== null) return null
  const timeOf = (value: Row[number] | undefined) => (value == null ? null : BigInt(value))
  const isNext = before !== undefined && BigInt(before[0]!) + 1n === BigInt(epoch!)
  const [, beforeStart, beforeExpiry, beforeEnd] = isNext ? before : []
  return {
    epoch: String(epoch),
    start: timeOf(start),
    height: BigInt(height!),
    expectedEnd:
      expiry == null || beforeExpiry == null || beforeEnd == null
        ? null
        : BigInt(expiry) + BigInt(beforeEnd) - BigInt(beforeExpiry),
    beforeStart: timeOf(beforeStart),
  }
}
