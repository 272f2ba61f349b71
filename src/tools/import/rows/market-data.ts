import type { MarketDataEvent, PerpetualData } from '#core/events/event'
import { MARKET_STATES, TRADING_MODES } from '#core/events/market-enums'
import { storableFigures } from '#core/resources/market-data/figures'
import { keepElement, noFeeShare, noSla } from '#core/resources/market-data/list-elements'
import { fromMicroseconds } from '../reference-values.ts'
import type { CurrentRow } from '../source.ts'
import {
  eventIndexOf,
  faultOfIndex,
  faultOfTime,
  type LeftOutRows,
  marketOf,
  naturalOf,
  numberIn,
  objectOf,
  type ParsedObject,
  parsed,
  parsedList,
  rowUnlessFault,
  textOrEmpty,
} from './row-values.ts'

/**
 * The lists of a market's providers, and the index of the market data in their block. Figures are null, and single elements
 * may be left out.
 */
export function marketDataOf(
  { row }: Pick<CurrentRow, 'row'>,
  leaveOut: LeftOutRows,
): { event: MarketDataEvent; index: number } | null {
  const [market, seqNum, feeShares, slas] = row
  const index = eventIndexOf(seqNum)
  const shares = parsedList(feeShares)
  const agreements = parsedList(slas)
  const event: MarketDataEvent = {
    kind: 'market-data',
    marketId: marketOf(market),
    feeShares: [],
    slas: [],
    figures: null,
  }
  const fault =
    event.marketId === '' ? 'invalid market ID' : shares && agreements ? faultOfIndex(index) : 'invalid JSON'
  if (fault === null) {
    for (const element of shares!) keepElement(event.feeShares, filled(noFeeShare(), element), leaveOut)
    for (const element of agreements!) keepElement(event.slas, filled(noSla(), element), leaveOut)
  }
  return rowUnlessFault({ event, index }, fault, leaveOut)
}

/** A market's latest data without their lists, at the time of their block. */
export function marketFiguresOf(
  { row, time }: CurrentRow,
  leaveOut: LeftOutRows,
): { event: MarketDataEvent; index: number } | null {
  const [market, seqNum, markPrice, openInterest, state, tradingMode, product] = row
  const index = eventIndexOf(seqNum)
  const perpetual = product == null ? null : objectOf(objectOf(parsed(product))?.perpetualData)
  const timestamp = Number.isNaN(time) ? 0n : fromMicroseconds(time)
  const event: MarketDataEvent = {
    kind: 'market-data',
    marketId: marketOf(market),
    feeShares: [],
    slas: [],
    figures: storableFigures({
      timestamp,
      markPrice: markPrice ?? '',
      openInterest: naturalOf(openInterest),
      state: numberIn(MARKET_STATES, state),
      tradingMode: numberIn(TRADING_MODES, tradingMode),
      perpetual: perpetual ? perpetualOf(perpetual) : null,
      isMalformed: false,
    }),
  }
  const fault = event.marketId === '' ? 'invalid market ID' : (faultOfIndex(index) ?? faultOfTime(time))
  return rowUnlessFault({ event, index }, fault, leaveOut)
}

/** Proto JSON omits empty fields and zeros. */
function perpetualOf(data: Record<string, unknown>): PerpetualData {
  const textOrNone = (value: unknown) => textOrEmpty(value) || null
  return {
    fundingPayment: textOrNone(data.fundingPayment),
    fundingRate: textOrNone(data.fundingRate),
    internalTwap: textOrNone(data.internalTwap),
    externalTwap: textOrNone(data.externalTwap),
    seq: naturalOf(textOrEmpty(data.seqNum ?? '0')),
    start: naturalOf(textOrEmpty(data.startTime ?? '0')),
  }
}

/** The element with the texts of a JSON object, whose names are those of the fields in snake case. */
function filled<T extends Record<string, string | string[]>>(element: T, json: ParsedObject): T {
  for (const name of Object.keys(element) as (keyof T & string)[]) {
    const value = json[name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)]
    element[name] = (Array.isArray(element[name]) ? textsOf(value) : textOrEmpty(value)) as T[typeof name]
  }
  return element
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.map(textOrEmpty) : []
}
