import { parseDecimal, writeDecimal } from '../figures/decimal.ts'
import { ANNUAL_PLACES, formatRate, RATE_PLACES } from '../figures/format-figure.ts'
import { Rounded } from '../parts/values/amount.tsx'
import { annualised } from '../periods/period.ts'

/** A rate in percent, exact on hover. */
export function Rate({ text, name }: { text: string; name?: string | undefined }) {
  const number = parseDecimal(text)
  return <Rounded text={text} shown={number === null ? text : formatRate(number, RATE_PLACES)} name={name} />
}

/** An annualised rate in percent, exact on hover. */
export function AnnualRate({
  rate,
  length,
  name,
}: {
  rate: string | null
  length: bigint | null
  name?: string | undefined
}) {
  const year = annualised(rate, length)
  if (year === null) return <>–</>
  return <Rounded text={writeDecimal(year)} shown={formatRate(year, ANNUAL_PLACES)} name={name} />
}
