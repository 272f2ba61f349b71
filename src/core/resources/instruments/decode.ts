import { MAX_INT64, MIN_INT64 } from '../../domain/integers.ts'
import { SECOND } from '../../domain/time.ts'
import type {
  AssetEvent,
  FundingParameters,
  FundingSchedule,
  InstrumentEvent,
  Product,
  SlaParameters,
} from '../../events/event.ts'
import { MARKET_IDS } from '../../events/known-ids.ts'
import {
  isKey,
  isStorable,
  type LeftOutReason,
  MAX_NUMBER_LENGTH,
  MAX_TEXT_LENGTH,
} from '../../events/left-out.ts'
import { MARKET_STATES, TRADING_MODES } from '../../events/market-enums.ts'
import {
  decoderOf,
  int64Field,
  optional,
  readerOf,
  textField,
  uint64Field,
} from '../../events/message-fields.ts'
import { bytesOf, uint, type WireReader } from '../../events/wire-reader.ts'

/** An asset's id if it is not a name. */
const HEX_ID = /^[0-9a-fA-F]{64}$/

/** The highest number of the enum. */
const LAST_ASSET_STATUS = 4

/** The products of an instrument by their tags in its oneof. */
const PRODUCTS_BY_TAG: ReadonlyMap<number, Product> = new Map([
  [bytesOf(100), 'PRODUCT_FUTURE'],
  [bytesOf(101), 'PRODUCT_SPOT'],
  [bytesOf(102), 'PRODUCT_PERPETUAL'],
])

/** From a `TradableInstrument` to its `Instrument`. */
const TO_INSTRUMENT = [bytesOf(1)]

/** From a `DataSourceSpec` to the triggers of its time trigger: data, internal, time_trigger, triggers. */
const TO_TRIGGERS = [bytesOf(4), bytesOf(1), bytesOf(2), bytesOf(2)]

const decodeTrigger = decoderOf<SentTrigger>({}, { initial: optional(int64Field(1)), every: int64Field(2) })

const decodeSla = decoderOf<SlaParameters>(
  {},
  {
    ...{ priceRange: textField(1), commitmentMinTimeFraction: textField(2) },
    ...{ performanceHysteresisEpochs: uint64Field(4), slaCompetitionFactor: textField(5) },
  },
)

const readDetails = readerOf<AssetEvent>({
  name: textField(1),
  symbol: textField(2),
  decimals: uint64Field(4),
})

/** Decodes the reader's `Market`. */
export function decodeInstrument(reader: WireReader): InstrumentEvent {
  const event: InstrumentEvent = {
    kind: 'market',
    marketId: '',
    code: '',
    name: '',
    product: 'PRODUCT_UNSPECIFIED',
    quoteName: '',
    decimalPlaces: 0n,
    positionDecimalPlaces: 0n,
    state: 0,
    tradingMode: 0,
    settlementAsset: null,
    funding: null,
    schedule: null,
    sla: null,
  }
  const { end } = reader
  while (reader.at < end) {
    const tag = reader.tag()
    if (tag === bytesOf(1)) {
      event.marketId = reader.id(MARKET_IDS) ?? ''
    } else if (tag === bytesOf(2)) {
      visitNested(reader, TO_INSTRUMENT, () => decodeFields(reader, event))
      reader.leave(end)
    } else if (tag === uint(3)) event.decimalPlaces = reader.uint64()
    else if (tag === uint(8)) event.tradingMode = reader.uint32()
    else if (tag === uint(9)) event.state = reader.uint32()
    else if (tag === uint(11)) event.positionDecimalPlaces = reader.int64()
    else if (tag === bytesOf(18)) {
      reader.enter()
      event.sla = slaOf(decodeSla(reader))
      reader.leave(end)
    } else reader.skip(tag)
  }
  event.settlementAsset &&= assetId(event.settlementAsset)
  return event
}

/** Enters the reader's message, and calls `visit` at each message at the end of a path of fields. */
function visitNested(reader: WireReader, path: readonly number[], visit: () => void, depth = 0): void {
  if (depth === path.length) {
    visit()
    return
  }
  const end = reader.enter()
  while (reader.at < end) {
    const tag = reader.tag()
    if (tag === path[depth]) {
      visitNested(reader, path, visit, depth + 1)
      reader.leave(end)
    } else reader.skip(tag)
  }
}

/** Decodes the nested `Instrument`: of its oneof the last product counts. */
function decodeFields(reader: WireReader, event: InstrumentEvent): void {
  const end = reader.enter()
  while (reader.at < end) {
    const tag = reader.tag()
    const product = PRODUCTS_BY_TAG.get(tag)
    if (tag === bytesOf(2)) event.code = reader.text()
    else if (tag === bytesOf(3)) event.name = reader.text()
    else if (product !== undefined) {
      if (product !== event.product) {
        event.product = product
        event.settlementAsset = null
        event.quoteName = ''
        event.funding = product === 'PRODUCT_PERPETUAL' ? noFunding() : null
        event.schedule = null
      }
      decodeProduct(reader, event)
      reader.leave(end)
    } else reader.skip(tag)
  }
}

function decodeProduct(reader: WireReader, event: InstrumentEvent): void {
  const end = reader.enter()
  const { product, funding } = event
  const triggers: SentTrigger[] = []
  while (reader.at < end) {
    const tag = reader.tag()
    if (product === 'PRODUCT_SPOT') {
      // Its first field is the base asset, its second the quote asset, in which liquidity is committed.
      if (tag === bytesOf(2)) event.settlementAsset = reader.text() || null
      else reader.skip(tag)
    } else if (tag === bytesOf(1)) event.settlementAsset = reader.text() || null
    else if (tag === bytesOf(2)) event.quoteName = reader.text()
    else if (funding === null) reader.skip(tag)
    else if (tag === bytesOf(4)) funding.interestRate = reader.text()
    else if (tag === bytesOf(5)) funding.clampLowerBound = reader.text()
    else if (tag === bytesOf(6)) funding.clampUpperBound = reader.text()
    else if (tag === bytesOf(7)) {
      visitNested(reader, TO_TRIGGERS, () => {
        reader.enter()
        triggers.push(decodeTrigger(reader))
      })
      reader.leave(end)
    } else if (tag === bytesOf(10)) funding.scalingFactor = reader.text()
    else if (tag === bytesOf(11)) funding.lowerBound = reader.text()
    else if (tag === bytesOf(12)) funding.upperBound = reader.text()
    else reader.skip(tag)
  }
  if (triggers.length > 0) event.schedule = scheduleOf(triggers)
}

/** A time trigger as it is sent, in seconds. */
export type SentTrigger = { initial: bigint | null; every: bigint }

/** The schedule of one trigger; null for several, or one whose times no payment has. */
export function scheduleOf([trigger, ...others]: readonly SentTrigger[]): FundingSchedule | null {
  if (trigger === undefined || others.length > 0) return null
  const initial = trigger.initial === null ? null : trigger.initial * SECOND
  const every = trigger.every * SECOND
  const isTime = (value: bigint) => value >= MIN_INT64 && value <= MAX_INT64
  return every > 0n && isTime(every) && isTime(initial ?? 0n) ? { initial, every } : null
}

/** The parameters; null if all are zero or unset, as in markets from before SLAs. */
export function slaOf(sla: SlaParameters): SlaParameters | null {
  const isUnset = (value: bigint | string) =>
    value === 0n || /^(?:[+-]?(?:0+\.?0*|\.0+))?$/.test(String(value))
  return Object.values(sla).every(isUnset) ? null : sla
}

/** Decodes the reader's `Asset`. */
export function decodeAsset(reader: WireReader): AssetEvent {
  const event: AssetEvent = { kind: 'asset', assetId: '', name: '', symbol: '', decimals: 0n, status: 0 }
  const { end } = reader
  while (reader.at < end) {
    const tag = reader.tag()
    if (tag === bytesOf(1)) event.assetId = reader.text()
    else if (tag === bytesOf(2)) {
      reader.enter()
      readDetails(reader, event)
      reader.leave(end)
    } else if (tag === uint(3)) event.status = reader.uint32()
    else reader.skip(tag)
  }
  event.assetId = assetId(event.assetId)
  return event
}

/** Why a market is left out; null if it is kept. */
export function faultOfInstrument(event: InstrumentEvent): LeftOutReason | null {
  if (event.marketId === '') return 'invalid market ID'
  if (event.state >= MARKET_STATES.length) return 'unknown market state'
  if (event.tradingMode >= TRADING_MODES.length) return 'unknown trading mode'
  if (event.decimalPlaces > MAX_INT64) return 'decimal places of 2^63 or more'
  if ((event.sla?.performanceHysteresisEpochs ?? 0n) > MAX_INT64) return 'epochs of 2^63 or more'
  for (const text of [...Object.values(event.funding ?? {}), ...Object.values(event.sla ?? {})]) {
    if (typeof text !== 'string') continue
    if (text.length > MAX_NUMBER_LENGTH) return 'number of more than 256 characters'
    if (!isStorable(text)) return 'text that cannot be kept'
  }
  if (!isKey(event.settlementAsset ?? '')) return 'invalid asset ID'
  return faultOfTexts(event.code, event.name, event.quoteName)
}

/** Why an asset is left out; null if it is kept. */
export function faultOfAsset(event: AssetEvent): LeftOutReason | null {
  if (event.assetId === '' || !isKey(event.assetId)) return 'invalid asset ID'
  if (event.status > LAST_ASSET_STATUS) return 'unknown asset status'
  if (event.decimals > MAX_INT64) return 'decimal places of 2^63 or more'
  return faultOfTexts(event.name, event.symbol)
}

function faultOfTexts(...texts: string[]): LeftOutReason | null {
  for (const text of texts) {
    if (text.length > MAX_TEXT_LENGTH) return 'text of more than 1,024 characters'
    if (!isStorable(text)) return 'text that cannot be kept'
  }
  return null
}

/** An asset's id in lower case; a name as it is. */
export function assetId(id: string): string {
  return HEX_ID.test(id) ? id.toLowerCase() : id
}

/** No interest, no clamps and no limits. */
export function noFunding(): FundingParameters {
  return {
    interestRate: '',
    clampLowerBound: '',
    clampUpperBound: '',
    scalingFactor: null,
    lowerBound: null,
    upperBound: null,
  }
}
