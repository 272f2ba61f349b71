import { MAX_INT64 } from '../../domain/integers.ts'
import type { AssetEvent, FundingParameters, InstrumentEvent, Product } from '../../events/event.ts'
import { MARKET_IDS } from '../../events/known-ids.ts'
import {
  isKey,
  isStorable,
  type LeftOutReason,
  type LeftOutSink,
  MAX_NUMBER_LENGTH,
  MAX_TEXT_LENGTH,
} from '../../events/left-out.ts'
import { bytesOf, uint, type WireReader } from '../../events/wire-reader.ts'

/** An asset's id where it is not a name. */
const HEX_ID = /^[0-9a-fA-F]{64}$/

/** The highest number of each enum. */
const LAST_STATE = 10
const LAST_TRADING_MODE = 8
const LAST_ASSET_STATUS = 4

/** The products of an instrument by their tags in its oneof. */
const PRODUCTS: ReadonlyMap<number, Product> = new Map([
  [bytesOf(100), 'PRODUCT_FUTURE'],
  [bytesOf(101), 'PRODUCT_SPOT'],
  [bytesOf(102), 'PRODUCT_PERPETUAL'],
])

/** Decodes the reader's `Market`; null where it is left out. */
export function decodeInstrument(reader: WireReader, leaveOut: LeftOutSink): InstrumentEvent | null {
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
  }
  const { end } = reader
  while (reader.at < end) {
    const tag = reader.tag()
    if (tag === bytesOf(1)) {
      event.marketId = reader.id(MARKET_IDS) ?? ''
    } else if (tag === bytesOf(2)) {
      decodeTradableInstrument(reader, event)
      reader.leave(end)
    } else if (tag === uint(3)) event.decimalPlaces = reader.uint64()
    else if (tag === uint(8)) event.tradingMode = reader.uint32()
    else if (tag === uint(9)) event.state = reader.uint32()
    else if (tag === uint(11)) event.positionDecimalPlaces = reader.int64()
    else reader.skip(tag)
  }
  const fault = faultOfInstrument(event)
  if (fault !== null) {
    leaveOut(fault)
    return null
  }
  event.settlementAsset = event.settlementAsset === null ? null : assetId(event.settlementAsset)
  return event
}

function decodeTradableInstrument(reader: WireReader, event: InstrumentEvent): void {
  const end = reader.enter()
  while (reader.at < end) {
    const tag = reader.tag()
    if (tag === bytesOf(1)) {
      decodeFields(reader, event)
      reader.leave(end)
    } else reader.skip(tag)
  }
}

/** Decodes the nested `Instrument`: of its oneof the last product counts. */
function decodeFields(reader: WireReader, event: InstrumentEvent): void {
  const end = reader.enter()
  while (reader.at < end) {
    const tag = reader.tag()
    const product = PRODUCTS.get(tag)
    if (tag === bytesOf(2)) event.code = reader.text()
    else if (tag === bytesOf(3)) event.name = reader.text()
    else if (product !== undefined) {
      if (product !== event.product) {
        event.product = product
        event.settlementAsset = null
        event.quoteName = ''
        event.funding = product === 'PRODUCT_PERPETUAL' ? noFunding() : null
      }
      decodeProduct(reader, event)
      reader.leave(end)
    } else reader.skip(tag)
  }
}

function decodeProduct(reader: WireReader, event: InstrumentEvent): void {
  const end = reader.enter()
  const { product, funding } = event
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
    else if (tag === bytesOf(10)) funding.scalingFactor = reader.text()
    else if (tag === bytesOf(11)) funding.lowerBound = reader.text()
    else if (tag === bytesOf(12)) funding.upperBound = reader.text()
    else reader.skip(tag)
  }
}

/** Decodes the reader's `Asset`; null where it is left out. */
export function decodeAsset(reader: WireReader, leaveOut: LeftOutSink): AssetEvent | null {
  const event: AssetEvent = { kind: 'asset', assetId: '', name: '', symbol: '', decimals: 0n, status: 0 }
  const { end } = reader
  while (reader.at < end) {
    const tag = reader.tag()
    if (tag === bytesOf(1)) event.assetId = reader.text()
    else if (tag === bytesOf(2)) {
      decodeAssetDetails(reader, event)
      reader.leave(end)
    } else if (tag === uint(3)) event.status = reader.uint32()
    else reader.skip(tag)
  }
  const fault = faultOfAsset(event)
  if (fault !== null) {
    leaveOut(fault)
    return null
  }
  event.assetId = assetId(event.assetId)
  return event
}

function decodeAssetDetails(reader: WireReader, event: AssetEvent): void {
  const end = reader.enter()
  while (reader.at < end) {
    const tag = reader.tag()
    if (tag === bytesOf(1)) event.name = reader.text()
    else if (tag === bytesOf(2)) event.symbol = reader.text()
    else if (tag === uint(4)) event.decimals = reader.uint64()
    else reader.skip(tag)
  }
}

/** Why a market is left out; null where it is kept. */
export function faultOfInstrument(event: InstrumentEvent): LeftOutReason | null {
  if (event.marketId === '') return 'invalid market ID'
  if (event.state > LAST_STATE) return 'unknown market state'
  if (event.tradingMode > LAST_TRADING_MODE) return 'unknown trading mode'
  if (event.decimalPlaces > MAX_INT64) return 'decimal places of 2^63 or more'
  for (const text of Object.values(event.funding ?? {})) {
    if (text === null) continue
    if (text.length > MAX_NUMBER_LENGTH) return 'number of more than 256 characters'
    if (!isStorable(text)) return 'text that cannot be kept'
  }
  if (!isKey(event.settlementAsset ?? '')) return 'invalid asset ID'
  return faultOfTexts(event.code, event.name, event.quoteName)
}

/** Why an asset is left out; null where it is kept. */
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
