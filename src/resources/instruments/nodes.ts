import { MARKET_ID } from '../../domain/ids.ts'
import { MAX_INT64, MIN_INT64 } from '../../domain/integers.ts'
import type {
  AssetEvent,
  FundingParameters,
  FundingSchedule,
  InstrumentEvent,
  SlaParameters,
} from '../../events/event.ts'
import { MARKET_STATES, PRODUCTS, TRADING_MODES } from '../../events/market-enums.ts'
import { assetId, faultOfAsset, faultOfInstrument } from './decode.ts'

/** A file of instruments is invalid; the message names file, node, field, value, and allowed values. */
export class InstrumentFileError extends Error {
  override name = 'InstrumentFileError'
}

/** Content of a file of instruments: markets, and their settlement assets. */
export type InstrumentNodes = { markets: InstrumentEvent[]; assets: AssetEvent[] }

/**
 * Reads instruments as the API gives them: an answer of `GET /api/v2/instruments`, a list of its nodes, or its nodes
 * line by line (ndjson).
 *
 * @throws {InstrumentFileError} for anything else, a market that comes twice, an asset described in two ways.
 */
export function parseInstruments(text: string, path: string): InstrumentNodes {
  const markets = new Map<string, InstrumentEvent>()
  const assets = new Map<string, AssetEvent>()
  for (const [index, node] of nodesOf(text, path).entries()) {
    const fields = new NodeFields(node, `${path}, node ${index + 1}`)
    const market = marketOf(fields)
    if (markets.has(market.marketId)) {
      fields.refuse('marketId', market.marketId, 'each market once, and it has come before')
    }
    markets.set(market.marketId, market)
    const asset = assetOf(fields)
    if (asset === null) continue
    const known = assets.get(asset.assetId)
    if (
      known !== undefined &&
      (known.symbol !== asset.symbol || known.name !== asset.name || known.decimals !== asset.decimals)
    ) {
      fields.refuse(
        'settlementAsset',
        asset.symbol,
        `what a node before says of the asset: ${known.symbol}, ${known.name}, ${known.decimals} decimals`,
      )
    }
    assets.set(asset.assetId, asset)
  }
  return { markets: [...markets.values()], assets: [...assets.values()] }
}

function nodesOf(text: string, path: string): unknown[] {
  const whole = parseJson(text)
  if (whole.error === null) {
    const { value } = whole
    if (Array.isArray(value)) return value
    if (isObject(value) && isObject(value.instruments) && Array.isArray(value.instruments.edges)) {
      return value.instruments.edges.map((edge) => (isObject(edge) ? edge.node : edge))
    }
    if (isObject(value) && 'marketId' in value) return [value]
    throw new InstrumentFileError(
      `${path}: is JSON, but neither an answer of GET /api/v2/instruments ({"instruments":{"edges":[...]}}), nor a list of its nodes, nor a node in each line`,
    )
  }
  const lines = text.split('\n')
  return lines.flatMap((line, index) => {
    if (line.trim() === '') return []
    const { value, error } = parseJson(line)
    if (error === null) return [value]
    throw new InstrumentFileError(
      lines.length < 2 || index === 0
        ? `${path}: is not JSON: ${whole.error}`
        : `${path}, line ${index + 1}: is not JSON: ${error}`,
    )
  })
}

function parseJson(text: string): { value: unknown; error: string | null } {
  try {
    return { value: JSON.parse(text), error: null }
  } catch (error) {
    return { value: undefined, error: (error as Error).message }
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** What nodes of version 0.2 do not have. */
const NOT_IN_OLDER = ['schedule', 'sla']

/** The fields of a node, or of an object within it. */
class NodeFields {
  readonly #node: Record<string, unknown>
  readonly #where: string
  readonly #prefix: string

  constructor(node: unknown, where: string, prefix = '') {
    this.#where = where
    this.#prefix = prefix
    if (!isObject(node)) this.refuse('', node, 'an object')
    this.#node = node
  }

  refuse(field: string, value: unknown, allowed: string): never {
    const name = `${this.#prefix}${field}`
    const shown = value === undefined ? 'missing' : JSON.stringify(value)!.slice(0, 100)
    throw new InstrumentFileError(
      `${this.#where}: ${name === '' ? 'it' : name} is ${shown}, allowed is ${allowed}. Nothing of the file is written; correct it and run the command again`,
    )
  }

  text(field: string): string {
    const value = this.#node[field]
    return typeof value === 'string' ? value : this.refuse(field, value, 'a text')
  }

  isNull(field: string): boolean {
    return this.#node[field] === null
  }

  textOrNull(field: string): string | null {
    return this.isNull(field) ? null : this.text(field)
  }

  integer(field: string, least: bigint): bigint {
    const value = this.#node[field]
    if (typeof value === 'string' && /^-?\d{1,20}$/.test(value)) {
      const number = BigInt(value)
      if (number >= least && number <= MAX_INT64) return number
    }
    return this.refuse(field, value, `a whole number from ${least} to ${MAX_INT64}, as text`)
  }

  /** The number of a name in a list. */
  oneOf(field: string, names: readonly string[]): number {
    const value = this.#node[field]
    const number = names.indexOf(value as string)
    return number >= 0 ? number : this.refuse(field, value, `one of ${names.join(', ')}`)
  }

  /** The object in a field; null if there is null. */
  object(field: string): NodeFields | null {
    const value = this.#node[field]
    if (value === null || (value === undefined && NOT_IN_OLDER.includes(field))) return null
    if (!isObject(value)) this.refuse(field, value, 'an object, or null')
    return new NodeFields(value, this.#where, `${this.#prefix}${field}.`)
  }
}

function marketOf(fields: NodeFields): InstrumentEvent {
  const marketId = fields.text('marketId')
  if (!MARKET_ID.test(marketId)) fields.refuse('marketId', marketId, '64 hex digits')
  const event: InstrumentEvent = {
    kind: 'market',
    marketId: marketId.toLowerCase(),
    code: fields.text('code'),
    name: fields.text('name'),
    product: PRODUCTS[fields.oneOf('product', PRODUCTS)]!,
    quoteName: fields.text('quoteName'),
    decimalPlaces: fields.integer('decimalPlaces', 0n),
    positionDecimalPlaces: fields.integer('positionDecimalPlaces', MIN_INT64),
    state: fields.oneOf('state', MARKET_STATES),
    tradingMode: fields.oneOf('tradingMode', TRADING_MODES),
    settlementAsset: assetIdOf(fields),
    funding: fundingOf(fields),
    schedule: scheduleOf(fields),
    sla: slaOf(fields),
  }
  if ((event.funding !== null) !== (event.product === 'PRODUCT_PERPETUAL')) {
    fields.refuse(
      'funding',
      event.funding,
      `an object where product is PRODUCT_PERPETUAL, null otherwise (product is ${event.product})`,
    )
  }
  const fault = faultOfInstrument(event)
  if (fault !== null) fields.refuse('', event.marketId, `a market as events may describe it (${fault})`)
  return event
}

function assetIdOf(fields: NodeFields): string | null {
  const id = fields.object('settlementAsset')?.text('id')
  if (id === undefined) return null
  return id === '' ? fields.refuse('settlementAsset.id', id, 'the id of an asset') : assetId(id)
}

function fundingOf(fields: NodeFields): FundingParameters | null {
  const funding = fields.object('funding')
  if (funding === null) return null
  return {
    interestRate: funding.text('interestRate'),
    clampLowerBound: funding.text('clampLowerBound'),
    clampUpperBound: funding.text('clampUpperBound'),
    scalingFactor: funding.textOrNull('scalingFactor'),
    lowerBound: funding.textOrNull('lowerBound'),
    upperBound: funding.textOrNull('upperBound'),
  }
}

/** Null if the node, as those of older versions, has none. */
function scheduleOf(fields: NodeFields): FundingSchedule | null {
  const schedule = fields.object('funding')?.object('schedule') ?? null
  if (schedule === null) return null
  return {
    initial: schedule.isNull('initial') ? null : schedule.integer('initial', MIN_INT64),
    every: schedule.integer('every', 1n),
  }
}

/** Null if the node, as those of older versions, has none. */
function slaOf(fields: NodeFields): SlaParameters | null {
  const sla = fields.object('sla')
  if (sla === null) return null
  return {
    priceRange: sla.text('priceRange'),
    commitmentMinTimeFraction: sla.text('commitmentMinTimeFraction'),
    performanceHysteresisEpochs: sla.integer('performanceHysteresisEpochs', 0n),
    slaCompetitionFactor: sla.text('slaCompetitionFactor'),
  }
}

/** The settlement asset; null if the node has none, or says no more than its id. */
function assetOf(fields: NodeFields): AssetEvent | null {
  const asset = fields.object('settlementAsset')
  const symbol = asset?.textOrNull('symbol')
  if (asset === null || symbol === null || symbol === undefined) return null
  const name = asset.text('name')
  const decimals = asset.integer('decimals', 0n)
  const event: AssetEvent = { kind: 'asset', assetId: assetIdOf(fields)!, name, symbol, decimals, status: 0 }
  const fault = faultOfAsset(event)
  if (fault !== null) asset.refuse('id', event.assetId, `an asset as events may describe it (${fault})`)
  return event
}
