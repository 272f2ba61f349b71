import {
  type AmountStyle,
  describeExact,
  exactAmount,
  formatAmount,
  type Unit,
} from '../../figures/amount.ts'
import { formatPercent } from '../../figures/format-figure.ts'

export type AmountProps = AmountStyle & {
  /** The API's text. */
  text: string
  unit: Unit | null
  /** Whether the asset's symbol is left out, as if a column's header names it. */
  bare?: boolean
  /** For tests and styles: which figure it is. */
  name?: string | undefined
}

/** An amount of an asset, for people; hover and copies have the exact number of whole units. */
export function Amount({ text, unit, bare = false, name, ...style }: AmountProps) {
  return (
    <data class="amount" value={exactAmount(text, unit)} title={describeExact(text, unit)} data-figure={name}>
      {formatAmount(text, unit, style)}
      {!bare && unit !== null && unit.symbol !== '' && <span class="unit"> {unit.symbol}</span>}
    </data>
  )
}

/** A number that is rounded for reading, exact on hover and in copies; a percentage is one on hover, too. */
export function Rounded({
  text,
  shown,
  name,
  bad = false,
}: {
  text: string
  shown: string
  name?: string | undefined
  /** Whether it is bad news. */
  bad?: boolean | undefined
}) {
  return (
    <data
      class={bad ? 'amount bad' : 'amount'}
      value={text}
      title={shown.endsWith('%') ? formatPercent(text) : text}
      data-figure={name}
    >
      {shown}
    </data>
  )
}
