import { getOrInsert } from '#core/domain/get-or-insert'
import { rowsUnder } from '#core/store/schema/ranges'
import { tableOf } from '#core/store/schema/tables'
import { allRows, namedRow, positionOfRow, walkTable } from '#core/store/walk-table'
import { PeriodPayments } from '../party-payments.ts'
import type { Tally } from '../tally.ts'
import type { StoredMarket } from './stored-events.ts'
import { type StoredStream, unknownAt } from './stored-stream.ts'

const PAYMENTS = tableOf('funding_payments')
const PERIODS = tableOf('funding_periods')

/** Judges the stored payments of a market's parties, for all periods or one. */
export async function verifyStoredPayments(
  { reader, marketId, signal, stream, tally }: StoredMarket & { stream: StoredStream; tally: Tally },
  only: bigint | null,
): Promise<void> {
  const periods = new Map<bigint, PeriodPayments>()
  for await (const chunk of walkTable(reader, PAYMENTS, rowsUnder(marketId), signal)) {
    for (const row of chunk) {
      const named = namedRow(PAYMENTS, row)
      const seq = BigInt(named.seq!)
      if (only !== null && seq !== only) continue
      const first = { marketId, seq, timestamp: BigInt(named.timestamp!), position: positionOfRow(named) }
      const period = getOrInsert(periods, seq, () => new PeriodPayments(first))
      period.add({ party_id: named.party_id!, amount: named.amount!, loss_amount: named.loss_amount! })
    }
  }
  if (periods.size === 0) return
  const paymentOf = new Map<bigint, string | null>()
  for (const row of await allRows(reader, PERIODS, rowsUnder(marketId), signal)) {
    const { seq, funding_payment } = namedRow(PERIODS, row)
    paymentOf.set(BigInt(seq!), funding_payment!)
  }
  for (const [seq, period] of periods) {
    period.judge(tally, paymentOf.get(seq) ?? null, unknownAt(stream, period.first.position.height))
  }
}
