import { canonicalId } from '#core/domain/ids'
import type { AssetEvent, InstrumentEvent, SlaParameters } from '#core/events/event'
import { MARKET_STATES, TRADING_MODES } from '#core/events/market-enums'
import { noFunding, type SentTrigger, scheduleOf, slaOf } from '#core/resources/instruments/decode'
import { faultOf } from '#core/resources/projections'
import { idOf } from '../reference-values.ts'
import type { SourceRow } from '../source.ts'
import {
  type LeftOutRows,
  marketOf,
  naturalOf,
  numberIn,
  objectOf,
  type ParsedObject,
  parsed,
  rowUnlessFault,
  textOrEmpty,
  textOrNull,
} from './row-values.ts'

const ASSET_STATUSES = [
  'STATUS_UNSPECIFIED',
  'STATUS_PROPOSED',
  'STATUS_REJECTED',
  'STATUS_PENDING_LISTING',
  'STATUS_ENABLED',
]

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
  setProduct(event, instrument)
  if (event.settlementAsset !== null) event.settlementAsset = canonicalId(event.settlementAsset)
  return rowUnlessFault(event, faultOf(event), leaveOut)
}

/** Sets what depends on the product, of which an instrument as JSON names one. */
function setProduct(event: InstrumentEvent, instrument: ParsedObject): void {
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
