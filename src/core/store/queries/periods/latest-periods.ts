import type { Row } from '../../../model/resource.ts'
import { fundingPeriods } from '../../../resources/funding-periods/description.ts'
import { columnList, columnNames } from '../../pages/scan-sql.ts'
import type { Query } from '../../queries-protocol.ts'
import type { PeriodKey } from './ended-periods.ts'

/**
 * A market's latest period, and its latest one with a payment. Each row begins with the market, a word that says which of
 * the two it is, and the height of the event that its start is from.
 */
const READ_LATEST_PERIODS = [
  lastPeriod('latest', ''),
  lastPeriod('paid', 'and funding_payment is not null'),
].join(' union all ')

function lastPeriod(name: 'latest' | 'paid', condition: string): string {
  return `select market_id, '${name}', cast(start_height as text), ${columnList(fundingPeriods)} from (
      select market_id, start_height, ${columnNames(fundingPeriods)} from funding_periods
      where market_id = $1 ${condition}
      order by start_timestamp desc, seq desc limit 1) as ${name}_period`
}

/* The columns of a period's row. */
const indexOf = (column: string) => fundingPeriods.storage.columns.findIndex(({ name }) => name === column)
const END_COLUMN = indexOf('end_timestamp')
const SEQ_COLUMN = indexOf('seq')
const START_COLUMN = indexOf('start_timestamp')

/** A market's latest period, and its last paid one, as rows of the resource. */
export type LatestPeriods = {
  latest: Row | null
  /** The height of the event that the latest period's start is from; 0 if unknown. */
  startHeight: bigint
  paid: Row | null
}

const NO_PERIODS: LatestPeriods = { latest: null, startHeight: 0n, paid: null }

/** Reads the latest periods of each of these markets. */
export function* readLatestPeriods(marketIds: readonly string[]): Query<ReadonlyMap<string, LatestPeriods>> {
  const rows = yield { text: READ_LATEST_PERIODS, each: marketIds.map((id) => [id]) }
  const markets = new Map(marketIds.map((id) => [id, NO_PERIODS]))
  for (const [marketId, which, startHeight, ...period] of rows) {
    const id = String(marketId)
    const added = which === 'paid' ? { paid: period } : { latest: period, startHeight: BigInt(startHeight!) }
    markets.set(id, { ...markets.get(id)!, ...added })
  }
  return markets
}

/** A market's latest period if it has no end. An earlier one without an end ended in blocks that are missing. */
export function runningOf({ latest }: LatestPeriods): Row | null {
  return latest?.[END_COLUMN] === null ? latest : null
}

/** The identity of a period of {@link LatestPeriods} within its market. */
export function keyOfPeriod(row: Row): PeriodKey {
  return { start: BigInt(row[START_COLUMN]!), seq: BigInt(row[SEQ_COLUMN]!) }
}
