import { canonicalId } from '../../domain/ids.ts'
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
  marketField,
  optional,
  type ReadInto,
  readerOf,
  textField,
  textFieldOrNull,
  uint32Field,
  uint64Field,
} from '../../events/message-fields.ts'
import type { WireReader } from '../../events/wire-reader.ts'
import { LAST_ASSET_STATUS } from './table.ts'

const decodeTrigger = decoderOf<SentTrigger>({}, { initial: optional(int64Field(1)), every: int64Field(2) })

const decodeSla = decoderOf<SlaParameters>(
  {},
  {
    priceRange: textField(1),
    commitmentMinTimeFraction: textField(2),
    performanceHysteresisEpochs: uint64Field(4),
    slaCompetitionFactor: textField(5),
  },
)

/** Reads a message of which only the messages at the end of a path of fields are needed. */
function atPath<Message extends object>(path: readonly number[], read: ReadInto<Message>): ReadInto<Message> {
  return path.reduceRight((inner, field) => readerOf<Message>({}, { [field]: inner }), read)
}

/** The stored fields of a perpetual. */
type SentPerpetual = FundingParameters &
  Pick<InstrumentEvent, 'settlementAsset' | 'quoteName'> & { triggers: SentTrigger[] }

const readPerpetualTerms = readerOf<SentPerpetual>(
  {
    settlementAsset: textFieldOrNull(1),
    quoteName: textField(2),
    interestRate: textField(4),
    clampLowerBound: textField(5),
    clampUpperBound: textField(6),
    scalingFactor: optional(textField(10)),
    lowerBound: optional(textField(11)),
    upperBound: optional(textField(12)),
  },
  {
    // The path from a `DataSourceSpec` to the triggers of its time trigger: data, internal, time_trigger, triggers.
    7: atPath([4, 1, 2, 2], (reader, { triggers }) => triggers.push(decodeTrigger(reader))),
  },
)

/** Reads a product into its instrument. If the oneof occurs several times, the last one counts. */
const productOf =
  (product: Product, read: ReadInto<InstrumentEvent>) =>
  (reader: WireReader, event: InstrumentEvent): void => {
    if (product !== event.product)
      Object.assign(event, { product, settlementAsset: null, quoteName: '', funding: null, schedule: null })
    read(reader, event)
  }

const readInstrument = readerOf<InstrumentEvent>(
  { code: textField(2), name: textField(3) },
  {
    100: productOf(
      'PRODUCT_FUTURE',
      readerOf<InstrumentEvent>({ settlementAsset: textFieldOrNull(1), quoteName: textField(2) }),
    ),
    // The first field is the base asset, the second the quote asset, in which liquidity is committed.
    101: productOf('PRODUCT_SPOT', readerOf<InstrumentEvent>({ settlementAsset: textFieldOrNull(2) })),
    102: productOf('PRODUCT_PERPETUAL', takePerpetual),
  },
)

const readMarket = readerOf<InstrumentEvent>(
  {
    marketId: marketField(1),
    decimalPlaces: uint64Field(3),
    tradingMode: uint32Field(8),
    state: uint32Field(9),
    positionDecimalPlaces: int64Field(11),
  },
  {
    2: atPath([1], readInstrument),
    18: (reader, event) => {
      event.sla = slaOf(decodeSla(reader))
    },
  },
)

const readAsset = readerOf<AssetEvent>(
  { assetId: textField(1), status: uint32Field(3) },
  { 2: readerOf<AssetEvent>({ name: textField(1), symbol: textField(2), decimals: uint64Field(4) }) },
)

function takePerpetual(reader: WireReader, event: InstrumentEvent): void {
  const before = { settlementAsset: event.settlementAsset, quoteName: event.quoteName, triggers: [] }
  const perpetual = readPerpetualTerms(reader, { ...before, ...(event.funding ?? noFunding()) })
  const { settlementAsset, quoteName, triggers, ...funding } = perpetual
  Object.assign(event, { settlementAsset, quoteName, funding })
  if (triggers.length > 0) event.schedule = scheduleOf(triggers)
}

/** Decodes the reader's `Market`. */
export function decodeInstrument(reader: WireReader): InstrumentEvent {
  const event = readMarket(reader, {
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
  })
  event.settlementAsset &&= canonicalId(event.settlementAsset)
  return event
}

/** Decodes the reader's `Asset`. */
export function decodeAsset(reader: WireReader): AssetEvent {
  const absent = { assetId: '', name: '', symbol: '', decimals: 0n, status: 0 }
  const event = readAsset(reader, { kind: 'asset', ...absent })
  event.assetId = canonicalId(event.assetId)
  return event
}

/** A time trigger as sent, in seconds. */
export type SentTrigger = { initial: bigint | null; every: bigint }

/** The schedule of one trigger. Null if there is not exactly one, or if no payment can have its times. */
export function scheduleOf([trigger, ...others]: readonly SentTrigger[]): FundingSchedule | null {
  if (trigger === undefined || others.length > 0) return null
  const initial = trigger.initial === null ? null : trigger.initial * SECOND
  const every = trigger.every * SECOND
  const isTime = (value: bigint) => value >= MIN_INT64 && value <= MAX_INT64
  return every > 0n && isTime(every) && isTime(initial ?? 0n) ? { initial, every } : null
}

/** The parameters; null if all are zero or unset, as in markets that are older than SLAs. */
export function slaOf(sla: SlaParameters): SlaParameters | null {
  const isUnset = (value: bigint | string) =>
    value === 0n || /^(?:[+-]?(?:0+\.?0*|\.0+))?$/.test(String(value))
  return Object.values(sla).every(isUnset) ? null : sla
}

/** Why a market is left out; null if it is stored. */
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

/** Why an asset is left out; null if it is stored. */
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

/** Funding parameters without interest, clamps and limits. */
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
