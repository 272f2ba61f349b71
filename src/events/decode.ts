import { MAX_INT64 } from '../domain/integers.ts'
import { type Envelope, EVENT_KIND } from './bus-event.ts'
import type {
  AuctionEvent,
  CheckpointEvent,
  DataPointSource,
  FundingPeriodDataPointEvent,
  FundingPeriodEvent,
  LiquidityProvisionEvent,
  MarketEvent,
  ProvisionStatus,
} from './event.ts'
import { decodeAsset, decodeInstrument } from './instruments.ts'
import { MARKET_IDS, PARTY_IDS } from './known-ids.ts'
import {
  isKeptNumber,
  isKey,
  isStorable,
  type LeftOutReason,
  type LeftOutSink,
  MAX_NUMBER_LENGTH,
} from './left-out.ts'
import { decodeMarketData } from './market-data.ts'
import { bytesOf, uint, WireReader } from './wire-reader.ts'

export type { LeftOutReason } from './left-out.ts'

const reader = new WireReader()

/**
 * Decodes the body of an event of a kind that is kept; null where the kind is not, or the event is left out.
 *
 * @throws {MalformedMessageError} where the body is not a message of its kind.
 */
export function decodeEvent(envelope: Envelope, leaveOut: LeftOutSink): MarketEvent | null {
  const { bytes, bodyStart, bodyEnd } = envelope
  reader.reset(bytes, bodyStart, bodyEnd)
  switch (envelope.kind) {
    case EVENT_KIND.marketData:
      return decodeMarketData(bytes, bodyStart, bodyEnd, leaveOut)
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
    case EVENT_KIND.marketCreated:
    case EVENT_KIND.marketUpdated:
      return decodeInstrument(reader, leaveOut)
    case EVENT_KIND.asset:
      return decodeAsset(reader, leaveOut)
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
  let marketId: string | null = null
  let seq = 0n
  let source = 0
  let price = ''
  let timestamp = 0n
  let twap = ''
  while (reader.at < reader.end) {
    const tag = reader.tag()
    if (tag === bytesOf(1)) marketId = reader.id(MARKET_IDS)
    else if (tag === uint(2)) seq = reader.uint64()
    else if (tag === uint(3)) source = reader.uint32()
    else if (tag === bytesOf(4)) price = reader.text()
    else if (tag === uint(6)) timestamp = reader.int64()
    else if (tag === bytesOf(7)) twap = reader.text()
    else reader.skip(tag)
  }
  if (marketId === null) return refuse(leaveOut, 'invalid market ID')
  if (seq > MAX_INT64) return refuse(leaveOut, 'seq of 2^63 or more')
  if (source > 2) return refuse(leaveOut, 'unknown source')
  if (!isKeptNumber(price)) return refuse(leaveOut, numberFault(price, 'price is no decimal number'))
  if (!isKeptNumber(twap)) return refuse(leaveOut, numberFault(twap, 'twap is no decimal number'))
  return {
    kind: 'funding-period-data-point',
    marketId,
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
    if (tag === bytesOf(1)) event.marketId = reader.id(MARKET_IDS) ?? ''
    else if (tag === uint(2)) event.seq = reader.uint64()
    else if (tag === uint(3)) event.start = reader.int64()
    else if (tag === uint(4)) event.end = reader.int64()
    else if (tag === bytesOf(5)) event.fundingPayment = reader.text()
    else if (tag === bytesOf(6)) event.fundingRate = reader.text()
    else if (tag === bytesOf(7)) event.internalTwap = reader.text()
    else if (tag === bytesOf(8)) event.externalTwap = reader.text()
    else reader.skip(tag)
  }
  if (event.marketId === '') return refuse(leaveOut, 'invalid market ID')
  if (event.seq > MAX_INT64) return refuse(leaveOut, 'seq of 2^63 or more')
  for (const twap of [event.internalTwap, event.externalTwap]) {
    if (twap !== null && !isKeptNumber(twap)) {
      return refuse(leaveOut, numberFault(twap, 'twap is no decimal number'))
    }
  }
  for (const text of [event.fundingPayment, event.fundingRate]) {
    if (text === null || isKeptNumber(text)) continue
    if (!isStorable(text)) return refuse(leaveOut, 'text that cannot be kept')
    return refuse(leaveOut, numberFault(text, 'payment or rate is not a decimal number'))
  }
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
    if (tag === bytesOf(1)) event.marketId = reader.id(MARKET_IDS) ?? ''
    else if (tag === uint(2)) event.openingAuction = reader.uint32() !== 0
    else if (tag === uint(3)) event.leave = reader.uint32() !== 0
    else if (tag === uint(4)) event.start = reader.int64()
    else if (tag === uint(5)) event.end = reader.int64()
    else reader.skip(tag)
  }
  if (event.marketId === '') return refuse(leaveOut, 'invalid market ID')
  return event
}

function decodeProvision(leaveOut: LeftOutSink): LiquidityProvisionEvent | null {
  let provisionId = ''
  let partyId: string | null = null
  let marketId: string | null = null
  let status = 0
  while (reader.at < reader.end) {
    const tag = reader.tag()
    if (tag === bytesOf(1)) provisionId = reader.text()
    else if (tag === bytesOf(2)) partyId = reader.id(PARTY_IDS)
    else if (tag === bytesOf(5)) marketId = reader.id(MARKET_IDS)
    else if (tag === uint(11)) status = reader.uint32()
    else reader.skip(tag)
  }
  if (marketId === null) return refuse(leaveOut, 'invalid market ID')
  if (partyId === null) return refuse(leaveOut, 'invalid party ID')
  if (status > 6) return refuse(leaveOut, 'unknown provision status')
  if (!isKey(provisionId)) return refuse(leaveOut, 'text that cannot be kept')
  return {
    kind: 'liquidity-provision',
    provisionId: provisionId.toLowerCase(),
    marketId,
    partyId,
    status: status as ProvisionStatus,
  }
}

/** Why a number is left out that is not one to be kept: its length goes first, whatever it holds. */
function numberFault(text: string, otherwise: LeftOutReason): LeftOutReason {
  return text.length > MAX_NUMBER_LENGTH ? 'number of more than 256 characters' : otherwise
}

function refuse(leaveOut: LeftOutSink, reason: LeftOutReason): null {
  leaveOut(reason)
  return null
}
