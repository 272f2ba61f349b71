import { MARKET_ID, PARTY_ID } from '../domain/ids.ts'
import { MAX_INT64 } from '../domain/integers.ts'
import { type Envelope, EVENT_KIND } from './bus-event.ts'
import type {
  AuctionEvent,
  CheckpointEvent,
  DataPointSource,
  FeeShare,
  FundingPeriodDataPointEvent,
  FundingPeriodEvent,
  LiquidityProvisionEvent,
  MarketDataEvent,
  MarketEvent,
  ProviderSla,
  ProvisionStatus,
} from './event.ts'
import { LENGTH_DELIMITED, VARINT, WireReader } from './wire-reader.ts'

/** Why an event, or an element of one of its lists, is left out (docs/events.md, events that are not as they should be). */
export type LeftOutReason =
  | 'invalid market ID'
  | 'invalid party ID'
  | 'unknown source'
  | 'unknown provision status'
  | 'seq of 2^63 or more'
  | 'height of 2^63 or more'
  | 'price is no decimal number'
  | 'twap is no decimal number'
  | 'text that cannot be kept'

/** Is told of everything that is left out. */
export type LeftOutSink = (reason: LeftOutReason) => void

/** Hashes and provision ids are keys; what is longer than any real one would not fit a database's index. */
const MAX_KEY_LENGTH = 256

/** A price or a TWAP. */
export const DECIMAL = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/

const uint = (field: number) => (field << 3) | VARINT
const bytesOf = (field: number) => (field << 3) | LENGTH_DELIMITED

const reader = new WireReader()

/**
 * Decodes the body of an event of a kind that is kept; null where the kind is not, or the event is left out.
 *
 * @throws {MalformedMessageError} where the body is no message of its kind.
 */
export function decodeEvent(envelope: Envelope, leaveOut: LeftOutSink): MarketEvent | null {
  const { bytes, bodyStart, bodyEnd } = envelope
  reader.reset(bytes, bodyStart, bodyEnd)
  switch (envelope.kind) {
    case EVENT_KIND.marketData:
      return decodeMarketData(leaveOut)
    case EVENT_KIND.fundingPeriodDataPoint:
      return decodeDataPoint(leaveOut)
    case EVENT_KIND.fundingPeriod:
      return decodeFundingPeriod(leaveOut)
    case EVENT_KIND.checkpoint:
      return decodeCheckpoint(leaveOut)
    case EVENT_KIND.liquidityProvision:
      return decodeProvision(leaveOut)
    case EVENT_KIND.auction:
      return decodeAuction(leaveOut)
    default:
      return null
  }
}

function decodeCheckpoint(leaveOut: LeftOutSink): CheckpointEvent | null {
  const event: CheckpointEvent = { kind: 'checkpoint', hash: '', blockHash: '', atBlock: 0n }
  while (reader.at < reader.end) {
    const tag = reader.tag()
    if (tag === bytesOf(1)) event.hash = reader.text()
    else if (tag === bytesOf(2)) event.blockHash = reader.text()
    else if (tag === uint(3)) event.atBlock = reader.uint64()
    else reader.skip(tag)
  }
  if (event.atBlock > MAX_INT64) return refuse(leaveOut, 'height of 2^63 or more')
  if (!isKey(event.hash) || !isKey(event.blockHash)) return refuse(leaveOut, 'text that cannot be kept')
  return event
}

function decodeDataPoint(leaveOut: LeftOutSink): FundingPeriodDataPointEvent | null {
  let marketId = ''
  let seq = 0n
  let source = 0
  let price = ''
  let timestamp = 0n
  let twap = ''
  while (reader.at < reader.end) {
    const tag = reader.tag()
    if (tag === bytesOf(1)) marketId = reader.text()
    else if (tag === uint(2)) seq = reader.uint64()
    else if (tag === uint(3)) source = reader.uint32()
    else if (tag === bytesOf(4)) price = reader.text()
    else if (tag === uint(6)) timestamp = reader.int64()
    else if (tag === bytesOf(7)) twap = reader.text()
    else reader.skip(tag)
  }
  if (!MARKET_ID.test(marketId)) return refuse(leaveOut, 'invalid market ID')
  if (seq > MAX_INT64) return refuse(leaveOut, 'seq of 2^63 or more')
  if (source > 2) return refuse(leaveOut, 'unknown source')
  if (!DECIMAL.test(price)) return refuse(leaveOut, 'price is no decimal number')
  if (!DECIMAL.test(twap)) return refuse(leaveOut, 'twap is no decimal number')
  return {
    kind: 'funding-period-data-point',
    marketId: marketId.toLowerCase(),
    seq,
    source: source as DataPointSource,
    price,
    timestamp,
    twap,
  }
}

function decodeFundingPeriod(leaveOut: LeftOutSink): FundingPeriodEvent | null {
  const event: FundingPeriodEvent = {
    kind: 'funding-period',
    marketId: '',
    seq: 0n,
    start: 0n,
    end: null,
    fundingPayment: null,
    fundingRate: null,
    internalTwap: null,
    externalTwap: null,
  }
  while (reader.at < reader.end) {
    const tag = reader.tag()
    if (tag === bytesOf(1)) event.marketId = reader.text()
    else if (tag === uint(2)) event.seq = reader.uint64()
    else if (tag === uint(3)) event.start = reader.int64()
    else if (tag === uint(4)) event.end = reader.int64()
    else if (tag === bytesOf(5)) event.fundingPayment = reader.text()
    else if (tag === bytesOf(6)) event.fundingRate = reader.text()
    else if (tag === bytesOf(7)) event.internalTwap = reader.text()
    else if (tag === bytesOf(8)) event.externalTwap = reader.text()
    else reader.skip(tag)
  }
  if (!MARKET_ID.test(event.marketId)) return refuse(leaveOut, 'invalid market ID')
  if (event.seq > MAX_INT64) return refuse(leaveOut, 'seq of 2^63 or more')
  for (const twap of [event.internalTwap, event.externalTwap]) {
    if (twap !== null && !DECIMAL.test(twap)) return refuse(leaveOut, 'twap is no decimal number')
  }
  for (const text of [event.fundingPayment, event.fundingRate]) {
    if (text !== null && !isStorable(text)) return refuse(leaveOut, 'text that cannot be kept')
  }
  event.marketId = event.marketId.toLowerCase()
  return event
}

function decodeAuction(leaveOut: LeftOutSink): AuctionEvent | null {
  const event: AuctionEvent = {
    kind: 'auction',
    marketId: '',
    openingAuction: false,
    leave: false,
    start: 0n,
    end: 0n,
  }
  while (reader.at < reader.end) {
    const tag = reader.tag()
    if (tag === bytesOf(1)) event.marketId = reader.text()
    else if (tag === uint(2)) event.openingAuction = reader.uint32() !== 0
    else if (tag === uint(3)) event.leave = reader.uint32() !== 0
    else if (tag === uint(4)) event.start = reader.int64()
    else if (tag === uint(5)) event.end = reader.int64()
    else reader.skip(tag)
  }
  if (!MARKET_ID.test(event.marketId)) return refuse(leaveOut, 'invalid market ID')
  event.marketId = event.marketId.toLowerCase()
  return event
}

function decodeProvision(leaveOut: LeftOutSink): LiquidityProvisionEvent | null {
  let provisionId = ''
  let partyId = ''
  let marketId = ''
  let status = 0
  while (reader.at < reader.end) {
    const tag = reader.tag()
    if (tag === bytesOf(1)) provisionId = reader.text()
    else if (tag === bytesOf(2)) partyId = reader.text()
    else if (tag === bytesOf(5)) marketId = reader.text()
    else if (tag === uint(11)) status = reader.uint32()
    else reader.skip(tag)
  }
  if (!MARKET_ID.test(marketId)) return refuse(leaveOut, 'invalid market ID')
  if (!PARTY_ID.test(partyId)) return refuse(leaveOut, 'invalid party ID')
  if (status > 6) return refuse(leaveOut, 'unknown provision status')
  if (!isKey(provisionId)) return refuse(leaveOut, 'text that cannot be kept')
  return {
    kind: 'liquidity-provision',
    provisionId: provisionId.toLowerCase(),
    marketId: marketId.toLowerCase(),
    partyId: partyId.toLowerCase(),
    status: status as ProvisionStatus,
  }
}

function decodeMarketData(leaveOut: LeftOutSink): MarketDataEvent | null {
  let marketId = ''
  const feeShares: FeeShare[] = []
  const slas: ProviderSla[] = []
  const { end } = reader
  while (reader.at < end) {
    const tag = reader.tag()
    if (tag === bytesOf(12)) {
      marketId = reader.text()
    } else if (tag === bytesOf(26)) {
      keepElement(feeShares, decodeFeeShare(enter()), leaveOut)
      leave(end)
    } else if (tag === bytesOf(32)) {
      keepElement(slas, decodeSla(enter()), leaveOut)
      leave(end)
    } else {
      reader.skip(tag)
    }
  }
  if (!MARKET_ID.test(marketId)) return refuse(leaveOut, 'invalid market ID')
  return { kind: 'market-data', marketId: marketId.toLowerCase(), feeShares, slas }
}

/** Narrows the reader to the nested message that begins here. */
function enter(): number {
  reader.end = reader.fieldEnd()
  return reader.end
}

/** Widens the reader again to the end of the outer message. */
function leave(end: number): void {
  reader.at = reader.end
  reader.end = end
}

/** A list element whose party is malformed, or whose texts cannot be kept, is left out alone. */
function keepElement<T extends FeeShare | ProviderSla>(list: T[], element: T, leaveOut: LeftOutSink): void {
  if (!PARTY_ID.test(element.party)) {
    leaveOut('invalid party ID')
    return
  }
  for (const value of Object.values(element)) {
    if (Array.isArray(value) ? !value.every(isStorable) : !isStorable(value)) {
      leaveOut('text that cannot be kept')
      return
    }
  }
  element.party = element.party.toLowerCase()
  list.push(element)
}

function decodeFeeShare(end: number): FeeShare {
  const share: FeeShare = {
    party: '',
    equityLikeShare: '',
    averageEntryValuation: '',
    averageScore: '',
    virtualStake: '',
  }
  while (reader.at < end) {
    const tag = reader.tag()
    if (tag === bytesOf(1)) share.party = reader.text()
    else if (tag === bytesOf(2)) share.equityLikeShare = reader.text()
    else if (tag === bytesOf(3)) share.averageEntryValuation = reader.text()
    else if (tag === bytesOf(4)) share.averageScore = reader.text()
    else if (tag === bytesOf(5)) share.virtualStake = reader.text()
    else reader.skip(tag)
  }
  return share
}

function decodeSla(end: number): ProviderSla {
  const sla: ProviderSla = {
    party: '',
    currentEpochFractionOfTimeOnBook: '',
    lastEpochFractionOfTimeOnBook: '',
    lastEpochFeePenalty: '',
    lastEpochBondPenalty: '',
    hysteresisPeriodFeePenalties: [],
    requiredLiquidity: '',
    notionalVolumeBuys: '',
    notionalVolumeSells: '',
  }
  while (reader.at < end) {
    const tag = reader.tag()
    if (tag === bytesOf(1)) sla.party = reader.text()
    else if (tag === bytesOf(2)) sla.currentEpochFractionOfTimeOnBook = reader.text()
    else if (tag === bytesOf(3)) sla.lastEpochFractionOfTimeOnBook = reader.text()
    else if (tag === bytesOf(4)) sla.lastEpochFeePenalty = reader.text()
    else if (tag === bytesOf(5)) sla.lastEpochBondPenalty = reader.text()
    else if (tag === bytesOf(6)) sla.hysteresisPeriodFeePenalties.push(reader.text())
    else if (tag === bytesOf(7)) sla.requiredLiquidity = reader.text()
    else if (tag === bytesOf(8)) sla.notionalVolumeBuys = reader.text()
    else if (tag === bytesOf(9)) sla.notionalVolumeSells = reader.text()
    else reader.skip(tag)
  }
  return sla
}

/** PostgreSQL's texts hold no NUL; both stores keep the same. */
function isStorable(text: string): boolean {
  return !text.includes('\0')
}

function isKey(text: string): boolean {
  return text.length <= MAX_KEY_LENGTH && isStorable(text)
}

function refuse(leaveOut: LeftOutSink, reason: LeftOutReason): null {
  leaveOut(reason)
  return null
}
