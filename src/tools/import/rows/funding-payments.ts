import { PaymentList } from '#core/resources/funding-payments/payment-list'
import type { FundingLossEvent, FundingPaymentsEvent } from '#core/resources/funding-payments/projection'
import { keepPartyAmount } from '#core/resources/party-amounts'
import { faultOf } from '#core/resources/projections'
import type { SourceRow } from '../source.ts'
import { type LeftOutRows, marketOf, naturalOf, partyOf, rowUnlessFault } from './row-values.ts'

/** A party's payment as an event of its own, and the loss event that results in the row's `lossAmount`. */
export function fundingPaymentOf(
  row: SourceRow,
  leaveOut: LeftOutRows,
): { payment: FundingPaymentsEvent; loss: FundingLossEvent } | null {
  const [market, party, seq, amount, lossAmount] = row
  const marketId = marketOf(market)
  const payment: FundingPaymentsEvent = {
    kind: 'funding-payments',
    marketId,
    seq: naturalOf(seq),
    payments: new PaymentList(),
  }
  const loss: FundingLossEvent = {
    kind: 'funding-loss',
    marketId,
    partyId: partyOf(party),
    amount: lossAmount ?? '0',
  }
  const fault = faultOf(payment) ?? faultOf(loss)
  if (fault !== null) return rowUnlessFault(null, fault, leaveOut)
  keepPartyAmount(payment.payments, { partyId: loss.partyId, amount: amount ?? '' }, leaveOut)
  return payment.payments.length === 0 ? null : { payment, loss }
}
