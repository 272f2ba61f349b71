import { PAYMENT_STYLE, placesOf } from '../figures/amount.ts'
import { writeDecimal } from '../figures/decimal.ts'
import { groupDigits } from '../figures/format-figure.ts'
import { formatLocal, formatSecond } from '../figures/format-time.ts'
import { Rate } from '../funding/rate.tsx'
import { BrokenTime } from '../funding/tables/points-table.tsx'
import { param } from '../location.ts'
import { useNarrow } from '../parts/narrow.ts'
import { Answer } from '../parts/states/states.tsx'
import { Pager } from '../parts/tables/pager.tsx'
import { TableHead } from '../parts/tables/table-head.tsx'
import { TablePlace } from '../parts/tables/table-place.tsx'
import { Amount } from '../parts/values/amount.tsx'
import { MarketName } from '../parts/values/market-name.tsx'
import { changeOf } from '../payments/payments.ts'
import { askEach, type SinglePayment } from '../payments/single-payments.ts'
import { subjectOf, type ViewRange } from '../range/view-range.ts'
import { marketUnit } from '../service/instruments.ts'
import { lyra } from '../service/lyra.ts'
import { useQuery } from '../service/use-query.ts'

/** Rows of a page; on a phone each is a card. */
const ROWS = 20
const ROWS_OF_PHONE = 5

/** Each payment of a party in a range, the latest first, with its rate and the position that it was for. */
export function EachPayment({
  partyId,
  range,
  version,
}: {
  partyId: string
  range: ViewRange
  /** Changes when there may be new payments. */
  version: string
}) {
  const rows = useNarrow() ? ROWS_OF_PHONE : ROWS
  const after = param('after') ?? undefined
  const before = param('before') ?? undefined
  const page = before === undefined ? { first: rows, after } : { last: rows, before }
  const filters = { partyId, from: range.from, to: range.to }
  const list = [partyId, subjectOf(range)].join()
  const query = useQuery(
    [list, rows, after, before].join(),
    (signal) => askEach(lyra, filters, page, signal),
    { version: `${range.from} ${range.to} ${after ?? before ?? version}`, list },
  )
  return (
    <>
      <h3 class="chart-title" id="each-payment">
        Each payment
      </h3>
      <Answer query={query} what="payments">
        {(data) =>
          data.payments.length === 0 ? (
            <p class="quiet">No payment on this page.</p>
          ) : (
            <>
              <PaymentsTable payments={data.payments} />
              <Pager page={data} what="payments" />
            </>
          )
        }
      </Answer>
    </>
  )
}

/** Why a size is not shown. */
const NO_SIZE =
  'Not known: others could not pay everything, a step of the position pays less than two of the smallest unit, or period or market are not stored'

/** On hover: the time on the reader's clocks, unless these show UTC, and the exact one. */
function titleOf(timestamp: string): string {
  const local = formatLocal(timestamp)
  return `${local === null ? '' : `${local} here, `}${timestamp} ns`
}

export function PaymentsTable({ payments }: { payments: readonly SinglePayment[] }) {
  const isMissed = payments.some(({ lossAmount }) => lossAmount !== '0')
  const least = Math.max(
    ...payments.map((payment) =>
      placesOf([writeDecimal(changeOf(payment))], marketUnit(payment.marketId), PAYMENT_STYLE),
    ),
  )
  const titles = [
    'Time (UTC)',
    'Market',
    'Period',
    'Rate',
    'Position',
    'Received, or paid if below zero',
    ...(isMissed ? ['Missed: others could not pay'] : []),
  ]
  return (
    <TablePlace name="Table of single payments">
      <table class="stacked single-payments">
        <TableHead titles={titles} texts={['Time (UTC)', 'Market']} />
        <tbody>
          {payments.map((payment) => {
            const { marketId, fundingPeriodSeq, timestamp, rate, size, lossAmount } = payment
            const unit = marketUnit(marketId)
            return (
              <tr key={`${marketId} ${fundingPeriodSeq}`}>
                <th scope="row" title={titleOf(timestamp)}>
                  <BrokenTime time={formatSecond(timestamp)} />
                </th>
                <td data-label="Market">
                  <MarketName
                    marketId={marketId}
                    link={{ view: 'funding', params: { market: marketId, paid: fundingPeriodSeq } }}
                  />
                </td>
                <td data-label="Period" class="figure-column">
                  {groupDigits(fundingPeriodSeq)}
                </td>
                <td data-label="Rate" class="figure-column">
                  {rate === null ? '–' : <Rate text={rate} />}
                </td>
                <td
                  data-label="Position"
                  class="figure-column"
                  title={
                    size === null
                      ? NO_SIZE
                      : 'Calculated from amount and payment of the period; below zero if short'
                  }
                >
                  {size === null ? '–' : groupDigits(size)}
                </td>
                <td data-label={titles[5]} class="figure-column">
                  <Amount
                    {...PAYMENT_STYLE}
                    text={writeDecimal(changeOf(payment))}
                    unit={unit}
                    least={least}
                  />
                </td>
                {isMissed && (
                  <td data-label={titles[6]} class="figure-column">
                    <Amount {...PAYMENT_STYLE} text={lossAmount} unit={unit} least={least} />
                  </td>
                )}
              </tr>
            )
          })}
        </tbody>
      </table>
    </TablePlace>
  )
}
