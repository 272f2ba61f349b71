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
  return unlessFault(event, faultOfCheckpoint(event), leaveOut)
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
    if (tag === bytesOf(1)) marketId = reader.id(MARKET_IDS) ?? ''
    else if (tag === uint(2)) seq = reader.uint64()
    else if (tag === uint(3)) source = reader.uint32()
    else if (tag === bytesOf(4)) price = reader.text()
    else if (tag === uint(6)) timestamp = reader.int64()
    else if (tag === bytesOf(7)) twap = reader.text()
    else reader.skip(tag)
  }
  const event: FundingPeriodDataPointEvent = {
    kind: 'funding-period-data-point',
    marketId,
    seq,
    source: source as DataPointSource,
    price,
    timestamp,
    twap,
  }
  return unlessFault(event, faultOfDataPoint(event), leaveOut)
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
  return unlessFault(event, faultOfFundingPeriod(event), leaveOut)
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
  return unlessFault(event, event.marketId === '' ? 'invalid market ID' : null, leaveOut)
}

function decodeProvision(leaveOut: LeftOutSink): LiquidityProvisionEvent | null {
  let provisionId = ''
  let partyId = ''
  let marketId = ''
  let status = 0
  while (reader.at < reader.end) {
    const tag = reader.tag()
    if (tag === bytesOf(1)) provisionId = reader.text()
    else if (tag === bytesOf(2)) partyId = reader.id(PARTY_IDS) ?? ''
    else if (tag === bytesOf(5)) marketId = reader.id(MARKET_IDS) ?? ''
    else if (tag === uint(11)) status = reader.uint32()
    else reader.skip(tag)
  }
  const event: LiquidityProvisionEvent = {
    kind: 'liquidity-provision',
    provisionId: provisionId.toLowerCase(),
    marketId,
    partyId,
    status: status as ProvisionStatus,
  }
  return unlessFault(event, faultOfProvision(event), leaveOut)
}

/*
 * Why an event is left out, or a row of another source that stands for one; null where it is kept. Ids that are none are
 * `""`.
 */

export function faultOfCheckpoint({ atBlock, hash, blockHash }: CheckpointEvent): LeftOutReason | null {
  if (atBlock > MAX_INT64) return 'height of 2^63 or more'
  return isKey(hash) && isKey(blockHash) ? null : 'text that cannot be kept'
}

export function faultOfDataPoint(event: FundingPeriodDataPointEvent): LeftOutReason | null {
  const { marketId, seq, source, price, twap } = event
  if (marketId === '') return 'invalid market ID'
  if (seq > MAX_INT64) return 'seq of 2^63 or more'
  if (source > 2) return 'unknown source'
  if (!isKeptNumber(price)) return numberFault(price, 'price is not a decimal number')
  return isKeptNumber(twap) ? null : numberFault(twap, 'twap is not a decimal number')
}

export function faultOfFundingPeriod(event: FundingPeriodEvent): LeftOutReason | null {
  if (event.marketId === '') return 'invalid market ID'
  if (event.seq > MAX_INT64) return 'seq of 2^63 or more'
  for (const twap of [event.internalTwap, event.externalTwap]) {
    if (twap !== null && !isKeptNumber(twap)) return numberFault(twap, 'twap is not a decimal number')
  }
  for (const text of [event.fundingPayment, event.fundingRate]) {
    if (text === null || isKeptNumber(text)) continue
    if (!isStorable(text)) return 'text that cannot be kept'
    return numberFault(text, 'payment or rate is not a decimal number')
  }
  return null
}

export function faultOfProvision(event: LiquidityProvisionEvent): LeftOutReason | null {
  if (event.marketId === '') return 'invalid market ID'
  if (event.partyId === '') return 'invalid party ID'
  if (event.status > 6) return 'unknown provision status'
  return isKey(event.provisionId) ? null : 'text that cannot be kept'
}

/** Why a number is left out that is not one to be kept: its length goes first, whatever it holds. */
function numberFault(text: string, otherwise: LeftOutReason): LeftOutReason {
  return text.length > MAX_NUMBER_LENGTH ? 'number of more than 256 characters' : otherwise
}

function unlessFault<T>(event: T, fault: LeftOutReason | null, leaveOut: LeftOutSink): T | null {
  if (fault === null) return event
  leaveOut(fault)
  return null
}
