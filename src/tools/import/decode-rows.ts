import { MARKET_ID, PARTY_ID } from '#core/domain/ids'
import { MAX_INT64, MAX_UINT64 } from '#core/domain/integers'
import type {
  AssetEvent,
  CheckpointEvent,
  DataPointSource,
  FundingPeriodDataPointEvent,
  FundingPeriodEvent,
  InstrumentEvent,
  LiquidityProvisionEvent,
  MarketDataEvent,
  PerpetualData,
  ProvisionStatus,
  SlaParameters,
} from '#core/events/event'
import type { LeftOutReason } from '#core/events/left-out'
import { MARKET_STATES, TRADING_MODES } from '#core/events/market-enums'
import { PaymentList } from '#core/resources/funding-payments/payment-list'
import type { FundingLossEvent, FundingPaymentsEvent } from '#core/resources/funding-payments/projection'
import { SOURCES } from '#core/resources/funding-period-data-points/description'
import { assetId, noFunding, type SentTrigger, scheduleOf, slaOf } from '#core/resources/instruments/decode'
import type { EpochEndEvent } from '#core/resources/liquidity-provider-history/projection'
import { keepElement, noFeeShare, noSla, storableFigures } from '#core/resources/market-data/decode'
import type { PaidFeesEvent } from '#core/resources/paid-liquidity-fees/decode'
import { keepPartyAmount } from '#core/resources/party-amounts'
import { faultOf } from '#core/resources/projections'
import { fromMicroseconds, idOf, microsecondsOf } from './reference-values.ts'
import type { CurrentRow, SourceRow } from './source.ts'

/*
 * Decodes rows of the data node's tables as events, by the same rules as events of the stream. The columns are those of
 * tables.ts, in that order. Each function returns null if the row is left out; it has then called `leaveOut` with the
 * reason.
 */

/** Why a row is left out. */
export type LeftOutRowReason =
  | LeftOutReason
  | 'its block is not in the source'
  | 'invalid time'
  | 'invalid place in its block'
  | 'invalid JSON'

export type LeftOutRows = (reason: LeftOutRowReason) => void

const PROVISION_STATUSES = [
  'STATUS_UNSPECIFIED',
  'STATUS_ACTIVE',
  'STATUS_STOPPED',
  'STATUS_CANCELLED',
  'STATUS_REJECTED',
  'STATUS_UNDEPLOYED',
  'STATUS_PENDING',
]

const ASSET_STATUSES = [
  'STATUS_UNSPECIFIED',
  'STATUS_PROPOSED',
  'STATUS_REJECTED',
  'STATUS_PENDING_LISTING',
  'STATUS_ENABLED',
]

/** A number that no enum has. */
const UNKNOWN_ENUM = 255

/** Maximum index of an event in its block. */
const MAX_INDEX = 2 ** 31 - 1

/** Maximum number of cached ids: a few ids recur all the time. */
const KNOWN_IDS = 4_096

/** Creates a function that reads the id in a column's bytes; it returns `""` for an invalid id. */
function idsLike(pattern: RegExp): (bytea: string | null | undefined) => string {
  const ids = new Map<string, string>()
  return (bytea) => {
    const known = ids.get(bytea ?? '')
    if (known !== undefined) return known
    // A copy, because the text is a slice, which would retain a larger text in memory.
    const own = Buffer.from(bytea ?? '').toString()
    const id = idOf(own)
    if (!pattern.test(id)) return ''
    if (ids.size >= KNOWN_IDS) ids.clear()
    ids.set(own, id)
    return id
  }
}

const marketOf = idsLike(MARKET_ID)
const partyOf = idsLike(PARTY_ID)

/** A checkpoint, and its index in the block. */
export function checkpointOf(
  row: SourceRow,
  leaveOut: LeftOutRows,
): { event: CheckpointEvent; index: number } | null {
  const [hash, blockHash, height, seqNum] = row
  const event: CheckpointEvent = {
    kind: 'checkpoint',
    hash: hash ?? '',
    blockHash: blockHash ?? '',
    atBlock: naturalOf(height),
  }
  const index = eventIndexOf(seqNum)
  return rowUnlessFault({ event, index }, faultOf(event) ?? faultOfIndex(index), leaveOut)
}

/** A data point. A time that is not one is left out. */
export function dataPointOf(row: SourceRow, leaveOut: LeftOutRows): FundingPeriodDataPointEvent | null {
  const [market, seq, source, price, twap, time] = row
  const timestamp = microsecondsOf(time ?? null)
  const event: FundingPeriodDataPointEvent = {
    kind: 'funding-period-data-point',
    marketId: marketOf(market),
    seq: naturalOf(seq),
    source: numberIn(SOURCES, source) as DataPointSource,
    price: price ?? '',
    timestamp: Number.isNaN(timestamp) ? 0n : fromMicroseconds(timestamp),
    twap: twap ?? '',
  }
  return rowUnlessFault(event, faultOf(event) ?? faultOfTime(timestamp), leaveOut)
}

/** The end of an epoch; null also for the start of one, which is not counted as left out. */
export function epochEndOf([id, endTime]: SourceRow, leaveOut: LeftOutRows): EpochEndEvent | null {
  if (endTime == null) return null
  const event: EpochEndEvent = { kind: 'epoch-end', seq: naturalOf(id) }
  return rowUnlessFault(event, faultOf(event), leaveOut)
}

/** The fees that a market paid to its providers for an epoch. Single parties may be left out. */
export function paidFeesOf(row: SourceRow, leaveOut: LeftOutRows): PaidFeesEvent | null {
  const [market, epoch, parties] = row
  const event: PaidFeesEvent = {
    kind: 'paid-liquidity-fees',
    marketId: marketOf(market),
    epoch: naturalOf(epoch),
    paid: [],
  }
  const amounts = parsedList(parties)
  const fault = faultOf(event) ?? (amounts === null ? 'invalid JSON' : null)
  if (fault !== null) return rowUnlessFault(null, fault, leaveOut)
  for (const { party, amount } of amounts!) {
    const partyId = PARTY_ID.test(textOrEmpty(party)) ? textOrEmpty(party).toLowerCase() : ''
    keepPartyAmount(event.paid, { partyId, amount: textOrEmpty(amount) }, leaveOut)
  }
  return event
}

/** A party's payment as an event of its own, and the loss event that results in the row's `lossAmount`. */
export function fundingPaymentOf(
  row: SourceRow,
  leaveOut: LeftOutRows,
): { payment: FundingPaymentsEvent; loss: FundingLossEvent } | null {
  const [market, party, seq, amount, lossAmount] = row
  const marketId = marketOf(market)
  const payment: FundingPaymentsEvent = {
    kind: 'funding-payments',
    marketId,
    seq: naturalOf(seq),
    payments: new PaymentList(),
  }
  const loss: FundingLossEvent = {
    kind: 'funding-loss',
    marketId,
    partyId: partyOf(party),
    amount: lossAmount ?? '0',
  }
  const fault = faultOf(payment) ?? faultOf(loss)
  if (fault !== null) return rowUnlessFault(null, fault, leaveOut)
  keepPartyAmount(payment.payments, { partyId: loss.partyId, amount: amount ?? '' }, leaveOut)
  return payment.payments.length === 0 ? null : { payment, loss }
}

/** A liquidity provision. */
export function provisionOf(row: SourceRow, leaveOut: LeftOutRows): LiquidityProvisionEvent | null {
  const [id, party, market, status] = row
  const event: LiquidityProvisionEvent = {
    kind: 'liquidity-provision',
    provisionId: idOf(id ?? null),
    marketId: marketOf(market),
    partyId: partyOf(party),
    status: numberIn(PROVISION_STATUSES, status) as ProvisionStatus,
  }
  return rowUnlessFault(event, faultOf(event), leaveOut)
}

/** A funding period, as of its latest event. */
export function fundingPeriodOf(row: SourceRow, leaveOut: LeftOutRows): FundingPeriodEvent | null {
  const [market, seq, startTime, endTime, payment, rate, external, internal] = row
  const start = microsecondsOf(startTime ?? null)
  const end = endTime == null ? null : microsecondsOf(endTime)
  const event: FundingPeriodEvent = {
    kind: 'funding-period',
    marketId: marketOf(market),
    seq: naturalOf(seq),
    start: Number.isNaN(start) ? 0n : fromMicroseconds(start),
    end: end === null || Number.isNaN(end) ? null : fromMicroseconds(end),
    fundingPayment: payment ?? null,
    fundingRate: rate ?? null,
    internalTwap: internal ?? null,
    externalTwap: external ?? null,
  }
  const fault = faultOf(event) ?? faultOfTime(start) ?? (end === null ? null : faultOfTime(end))
  return rowUnlessFault(event, fault, leaveOut)
}

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

/** A market, as of its latest event. */
export function instrumentOf(row: SourceRow, leaveOut: LeftOutRows): InstrumentEvent | null {
  const [id, tradable, decimals, positionDecimals, tradingMode, state, sla] = row
  const json = tradable == null ? {} : objectOf(parsed(tradable))
  if (json === null) return rowUnlessFault(null, 'invalid JSON', leaveOut)
  const instrument = objectOf(json.instrument) ?? {}
  const event: InstrumentEvent = {
    kind: 'market',
    marketId: marketOf(id),
    code: textOrEmpty(instrument.code),
    name: textOrEmpty(instrument.name),
    product: 'PRODUCT_UNSPECIFIED',
    quoteName: '',
    decimalPlaces: naturalOf(decimals),
    positionDecimalPlaces: BigInt(/^-?\d{1,18}$/.test(positionDecimals ?? '') ? positionDecimals! : 0),
    state: numberIn(MARKET_STATES, state),
    tradingMode: numberIn(TRADING_MODES, tradingMode),
    settlementAsset: null,
    funding: null,
    schedule: null,
    sla: slaOfJson(sla),
  }
  const [future, spot, perpetual] = [instrument.future, instrument.spot, instrument.perpetual].map(objectOf)
  const settled = future ?? perpetual
  if (spot) {
    event.product = 'PRODUCT_SPOT'
    event.settlementAsset = textOrEmpty(spot.quoteAsset) || null
  } else if (settled) {
    event.product = future ? 'PRODUCT_FUTURE' : 'PRODUCT_PERPETUAL'
    event.settlementAsset = textOrEmpty(settled.settlementAsset) || null
    event.quoteName = textOrEmpty(settled.quoteName)
  }
  if (perpetual && event.product === 'PRODUCT_PERPETUAL') {
    event.funding = {
      ...noFunding(),
      interestRate: textOrEmpty(perpetual.interestRate),
      clampLowerBound: textOrEmpty(perpetual.clampLowerBound),
      clampUpperBound: textOrEmpty(perpetual.clampUpperBound),
      scalingFactor: textOrNull(perpetual.fundingRateScalingFactor),
      lowerBound: textOrNull(perpetual.fundingRateLowerBound),
      upperBound: textOrNull(perpetual.fundingRateUpperBound),
    }
    event.schedule = scheduleOf(triggersOf(perpetual.dataSourceSpecForSettlementSchedule))
  }
  if (event.settlementAsset !== null) event.settlementAsset = assetId(event.settlementAsset)
  return rowUnlessFault(event, faultOf(event), leaveOut)
}

/** The triggers in a `DataSourceSpec` as JSON. */
function triggersOf(spec: unknown): SentTrigger[] {
  let value = spec
  for (const name of ['data', 'internal', 'timeTrigger', 'triggers']) value = objectOf(value)?.[name]
  if (!Array.isArray(value)) return []
  return value.map((trigger) => {
    const { initial, every } = objectOf(trigger) ?? {}
    return { initial: initial === undefined ? null : secondsOf(initial), every: secondsOf(every) }
  })
}

/** A number of seconds; 0 if the value is not an integer. */
function secondsOf(value: unknown): bigint {
  return /^-?\d{1,19}$/.test(String(value)) ? BigInt(String(value)) : 0n
}

/** The SLA in its column, which releases before v0.73 do not have; null without an SLA. */
function slaOfJson(text: string | null | undefined): SlaParameters | null {
  const sla = text == null ? null : objectOf(parsed(text))
  if (sla === null) return null
  return slaOf({
    priceRange: textOrEmpty(sla.priceRange),
    commitmentMinTimeFraction: textOrEmpty(sla.commitmentMinTimeFraction),
    performanceHysteresisEpochs: naturalOf(String(sla.performanceHysteresisEpochs ?? 0)),
    slaCompetitionFactor: textOrEmpty(sla.slaCompetitionFactor),
  })
}

/** An asset, as of its latest event. */
export function assetOf(row: SourceRow, leaveOut: LeftOutRows): AssetEvent | null {
  const [id, name, symbol, decimals, status] = row
  const event: AssetEvent = {
    kind: 'asset',
    assetId: idOf(id ?? null),
    name: name ?? '',
    symbol: symbol ?? '',
    decimals: naturalOf(decimals),
    status: numberIn(ASSET_STATUSES, status),
  }
  return rowUnlessFault(event, faultOf(event), leaveOut)
}

function rowUnlessFault<T>(value: T, fault: LeftOutRowReason | null, leaveOut: LeftOutRows): T | null {
  if (fault === null) return value
  leaveOut(fault)
  return null
}

function faultOfTime(microseconds: number): LeftOutRowReason | null {
  return Number.isNaN(microseconds) ? 'invalid time' : null
}

function faultOfIndex(index: number): LeftOutRowReason | null {
  return index > 0 ? null : 'invalid place in its block'
}

/** An index in a block; 0 if the text is not an integer. */
function eventIndexOf(text: string | null | undefined): number {
  const index = /^\d{1,10}$/.test(text ?? '') ? Number(text) : 0
  return index <= MAX_INDEX ? index : 0
}

/**
 * An integer of 0 or more, which the tables store as a signed 64-bit one. For any other text it is MAX_UINT64, which is out
 * of range.
 */
function naturalOf(text: string | null | undefined): bigint {
  if (text == null || !/^\d{1,19}$/.test(text)) return MAX_UINT64
  // Most have only a few digits.
  const value = text.length < 16 ? BigInt(Number(text)) : BigInt(text)
  return value > MAX_INT64 ? MAX_UINT64 : value
}

function numberIn(names: readonly string[], name: string | null | undefined): number {
  const number = names.indexOf(name ?? '')
  return number < 0 ? UNKNOWN_ENUM : number
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

type ParsedObject = Record<string, unknown>

function objectOf(value: unknown): ParsedObject | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as ParsedObject) : null
}

/** The list in a column, which is empty for `null` and for no value; null if the value is not a list. */
function parsedList(text: string | null | undefined): ParsedObject[] | null {
  if (text == null) return []
  const value = parsed(text)
  if (value === null) return []
  return Array.isArray(value) ? value.map((element) => objectOf(element) ?? {}) : null
}

function textOrEmpty(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null
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
