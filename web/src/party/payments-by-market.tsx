import { inUnit, PAYMENT_STYLE, placesOf } from '../figures/amount.ts'
import { writeDecimal } from '../figures/decimal.ts'
import { groupDigits } from '../figures/format-figure.ts'
import { TableHead } from '../parts/tables/table-head.tsx'
import { TablePlace } from '../parts/tables/table-place.tsx'
import { Amount } from '../parts/values/amount.tsx'
import { MarketName } from '../parts/values/market-name.tsx'
import { type MarketSums, totalOf } from '../payments/payments.ts'
import { marketUnit } from '../service/instruments.ts'

/** The sums by market, those of an asset together, with their total if they are several. */
export function PaymentsByMarket({ groups }: { groups: readonly (readonly MarketSums[])[] }) {
  const sums = groups.flat()
  const totals = groups.filter(({ length }) => length > 1).map(totalOf)
  const isMissed = sums.some(({ missed }) => missed.digits !== 0n)
  const figuresOf = ({ total, received, paid, missed }: MarketSums) =>
    [total, received, paid, ...(isMissed ? [missed] : [])].map(writeDecimal)
  const least = Math.max(
    ...[...sums, ...totals].map((row) => placesOf(figuresOf(row), marketUnit(row.marketId), PAYMENT_STYLE)),
  )
  const titles = [
    'Total',
    'Received',
    'Paid',
    ...(isMissed ? ['Missed: others could not pay'] : []),
    'Payments',
  ]
  const cells = (row: MarketSums) => (
    <>
      {figuresOf(row).map((text, index) => (
        <td key={titles[index]} data-label={titles[index]} class="figure-column">
          <Amount {...PAYMENT_STYLE} text={text} unit={marketUnit(row.marketId)} least={least} />
        </td>
      ))}
      <td data-label="Payments" class="figure-column">
        {groupDigits(`${row.count}`)}
      </td>
    </>
  )
  return (
    <TablePlace name="Table of payments by market">
      <table class="stacked">
        <TableHead titles={['Market', ...titles]} texts={['Market']} />
        <tbody>
          {sums.map((row) => (
            <tr key={row.marketId} data-market={row.marketId}>
              <th scope="row">
                <MarketName
                  marketId={row.marketId}
                  link={{ view: 'funding', params: { market: row.marketId } }}
                />
              </th>
              {cells(row)}
            </tr>
          ))}
        </tbody>
        {totals.length > 0 && (
          <tfoot>
            {totals.map((row) => (
              <tr key={row.marketId}>
                <th scope="row">Total{inUnit(marketUnit(row.marketId))}</th>
                {cells(row)}
              </tr>
            ))}
          </tfoot>
        )}
      </table>
    </TablePlace>
  )
}
