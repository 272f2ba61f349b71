import { inUnit, PAYMENT_STYLE, placesOf } from '../figures/amount.ts'
import { add, writeDecimal } from '../figures/decimal.ts'
import { formatDay } from '../figures/format-time.ts'
import { TableHead } from '../parts/tables/table-head.tsx'
import { TablePlace } from '../parts/tables/table-place.tsx'
import { Amount } from '../parts/values/amount.tsx'
import type { DaySums } from '../payments/payments.ts'
import { marketLabel, marketUnit } from '../service/instruments.ts'

export type PaymentsByDayProps = {
  days: readonly DaySums[]
  /** The starts of days of which blocks are missing. */
  missing: ReadonlySet<bigint>
  groups: readonly (readonly string[])[]
}

/** The sums by day: the total of each asset with several markets, then each market. */
export function PaymentsByDay({ days, missing, groups }: PaymentsByDayProps) {
  const columnOf = (name: string, markets: readonly string[]) => {
    const unit = marketUnit(markets[0]!)
    const texts = days.map(({ byMarket }) => {
      const sums = markets.flatMap((marketId) => byMarket.get(marketId) ?? [])
      return sums.length === 0 ? null : writeDecimal(sums.reduce(add))
    })
    const title = name + inUnit(unit)
    return { key: `${name} ${markets[0]}`, title, unit, texts, least: placesOf(texts, unit, PAYMENT_STYLE) }
  }
  const columns = [
    ...groups.filter(({ length }) => length > 1).map((markets) => columnOf('Total', markets)),
    ...groups.flat().map((marketId) => columnOf(marketLabel(marketId), [marketId])),
  ]
  return (
    <TablePlace name="Table of payments by day">
      <table class="days stacked">
        <TableHead titles={['Day (UTC)', ...columns.map(({ title }) => title)]} texts={['Day (UTC)']} />
        <tbody>
          {days.map(({ start }, day) => (
            <tr key={`${start}`}>
              <th scope="row">
                {formatDay(start)}
                {missing.has(start) && (
                  <>
                    {' '}
                    <span class="tag">blocks missing</span>
                  </>
                )}
              </th>
              {columns.map(({ key, title, texts, ...column }) => (
                <td key={key} data-label={title} class="figure-column">
                  {texts[day] == null ? (
                    missing.has(start) ? (
                      'unknown'
                    ) : (
                      '–'
                    )
                  ) : (
                    <Amount {...PAYMENT_STYLE} {...column} text={texts[day]} bare />
                  )}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </TablePlace>
  )
}
