import type { Instrument } from 'lyra-client'
import { type Decimal, digitsAt, parseDecimal, roundVisibly, trimZeros, writeDecimal } from './decimal.ts'
import { groupDigits } from './format-figure.ts'

/** The unit of a market's integers, which count the smallest parts of its settlement asset. */
export type Unit = {
  symbol: string
  /** Decimal digits. */
  decimals: number
}

/** More decimals than this are a mistake in the event, and are not applied. */
const MAX_DECIMALS = 100

/** Decimal digits that are shown of a price, if the asset has more; the exact number is on hover. */
export const PRICE_PLACES = 8

/** The unit of a market's prices, TWAPs, payments and commitments; null if it is not known. */
export function unitOf(instrument: Instrument | null | undefined): Unit | null {
  const { symbol, decimals } = instrument?.settlementAsset ?? {}
  if (symbol == null || decimals == null || !/^\d{1,3}$/.test(decimals)) return null
  return Number(decimals) > MAX_DECIMALS ? null : { symbol, decimals: Number(decimals) }
}

/** The unit of a mark price, which has the market's decimals, not those of its asset; null if they are not known. */
export function markUnit(instrument: Instrument | null): Unit | null {
  const places = instrument?.decimalPlaces ?? ''
  return /^\d{1,2}$/.test(places)
    ? { symbol: unitOf(instrument)?.symbol ?? '', decimals: Number(places) }
    : null
}

/**
 * Decimal digits that are shown of a market's TWAPs: those of its prices, at least two. Means have more, which say nothing.
 */
export function pricePlaces(instrument: Instrument | null): number {
  const places = instrument?.decimalPlaces ?? ''
  return /^\d{1,2}$/.test(places) ? Math.min(PRICE_PLACES, Math.max(2, Number(places))) : PRICE_PLACES
}

/** Why a market's numbers are shown as they were sent; null if their unit is known. */
export function whyNoUnit(instrument: Instrument | null | undefined): string | null {
  if (unitOf(instrument) !== null) return null
  if (instrument == null) return 'the store has no market event for this market'
  if (instrument.settlementAsset === null) return 'this market names no settlement asset'
  return "the store has no event with the decimals of this market's settlement asset"
}

export type AmountStyle = {
  /** Decimal digits at most; the rest is rounded half away from zero. */
  places?: number
  /** Decimal digits at least: those of the other amounts in its column. */
  least?: number
  /** Whether a positive number has a sign. */
  signed?: boolean
}

/** How payments of parties are shown: with two places, and signed: below zero if the party paid. */
export const PAYMENT_STYLE: AmountStyle = { places: 2, signed: true }

/** A number of smallest parts as the number of whole ones, exact; null for a text that is not a number. */
export function wholeUnits(text: string, unit: Unit): Decimal | null {
  const number = parseDecimal(text)
  return number === null ? null : { digits: number.digits, scale: number.scale + unit.decimals }
}

/**
 * A number of an asset's smallest parts, as people read it: `2947093000` with 5 decimals is `29,470.93`. Zeros at the
 * end are left out after the second place; a small number keeps two digits. Without a unit the number
 * is as sent, in groups of three, with as many places as are asked for; a text that is not a number stays as it is.
 */
export function formatAmount(text: string, unit: Unit | null, style: AmountStyle = {}): string {
  const { places = PRICE_PLACES, least = 0, signed = false } = style
  const number = unit === null ? parseDecimal(text) : wholeUnits(text, unit)
  if (number === null) return text
  const isWhole = unit === null && style.places === undefined
  const shown = isWhole ? number : roundVisibly(number, Math.max(places, least))
  const scale = Math.max(shown.scale, least)
  const written = writeDecimal({ digits: digitsAt(shown, scale), scale })
  const sign = signed && shown.digits > 0n ? '+' : ''
  return (
    sign +
    groupDigits(
      unit === null ? written : trimZeros(written, Math.max(least, Math.min(2, places, unit.decimals))),
    )
  )
}

/** The decimal digits of the amount of a column that is shown with most, at most {@link PRICE_PLACES}. */
export function placesOf(
  texts: readonly (string | null)[],
  unit: Unit | null,
  style: AmountStyle = {},
): number {
  const shown = texts.map(
    (text) => /^[+-]?[\d,]+\.(\d+)$/.exec(formatAmount(text ?? '', unit, style))?.[1] ?? '',
  )
  return Math.min(PRICE_PLACES, Math.max(0, ...shown.map(({ length }) => length)))
}

/** As {@link formatAmount}, followed by the asset's symbol: `29,470.93 USD`. */
export function formatAmountWithUnit(text: string, unit: Unit | null, style: AmountStyle = {}): string {
  const amount = formatAmount(text, unit, style)
  return unit === null || unit.symbol === '' ? amount : `${amount} ${unit.symbol}`
}

/** The exact number in whole units, as it is copied: `-5607.788651`; without a unit as it was sent. */
export function exactAmount(text: string, unit: Unit | null): string {
  const number = unit === null ? null : wholeUnits(text, unit)
  return number === null ? text : trimZeros(writeDecimal(number))
}

/** The exact number, shown on hover: `-5,607.788651 USDT`. */
export function describeExact(text: string, unit: Unit | null): string {
  return unit === null ? text : `${groupDigits(exactAmount(text, unit))} ${unit.symbol}`.trim()
}

/** The unit in a column's header. */
export function inUnit(unit: Unit | null): string {
  return unit === null || unit.symbol === '' ? '' : `, ${unit.symbol}`
}
