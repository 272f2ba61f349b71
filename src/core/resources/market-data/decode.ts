import { MARKET_IDS, PARTY_IDS } from '../../events/cached-ids.ts'
import type { FeeShare, MarketDataEvent, MarketFigures, ProviderSla } from '../../events/event.ts'
import { type LeftOutSink, MAX_NUMBER_LENGTH, MAX_PENALTIES } from '../../events/left-out.ts'
import { marketField, readerOf } from '../../events/message-fields.ts'
import {
  bytesOf,
  LENGTH_DELIMITED,
  MalformedMessageError,
  uint,
  WireReader,
} from '../../events/wire-reader.ts'
import { CachedElements } from './cached-elements.ts'
import { type CopiedBytes, copyBytes } from './copied-bytes.ts'
import { decodeFigures } from './figures.ts'
import { keepElement, noFeeShare, noSla, PENALTIES, readFeeShare, readSla } from './list-elements.ts'

const MARKET = bytesOf(12)
/** An element of the list of fee shares, and one of the list of SLAs. */
export const FEE_SHARE = bytesOf(26)
export const SLA = bytesOf(32)
/** The product's data, and within these those of a perpetual. */
const PRODUCT = bytesOf(31)
const SEQ = uint(5)

/** The first field of both kinds of list elements. */
const PARTY = bytesOf(1)

/** The last field that is read of either; all are texts. */
const LAST_FIELD = 9

type Lists = { marketId: string; feeShares: FeeShare[]; slas: ProviderSla[] }

/** The seq of data that name no funding period. */
export const NO_SEQ = -1n

// State of one call of decodeMarketData. As fields of a class it costs about 1 % of all decoding.

const reader = new WireReader()
/** Reads products, beside the reader of the message. */
const productReader = new WireReader()
/**
 * The greatest seq that the message names, as far as it has been read. 0 if it has an estimate without a seq, as the core
 * sends that of the first period.
 */
let highestSeq = NO_SEQ

/** Elements of earlier messages that need not be checked again. */
const plainElements = new CachedElements()

const readLists = readerOf<Lists, LeftOutSink>(
  { marketId: marketField(12) },
  {
    26: (reader, { feeShares }, leaveOut) =>
      keepElement(feeShares, readFeeShare(reader, noFeeShare()), leaveOut),
    32: (reader, { slas }, leaveOut) => keepElement(slas, readSla(reader, noSla()), leaveOut),
  },
)

/**
 * Checks the MarketData `bytes[start..end)`; null if it is left out. A third of a stream is market data, of which only the
 * last of a market before a commit is written. The lists are therefore decoded only when they are requested.
 *
 * @throws {MalformedMessageError} if the bytes are not a MarketData.
 */
export function decodeMarketData(
  bytes: Buffer,
  start: number,
  end: number,
  leaveOut: LeftOutSink,
): MarketDataEvent | null {
  reader.reset(bytes, start, end)
  highestSeq = NO_SEQ
  let marketId = findPlainMarket()
  if (marketId === null) {
    reader.reset(bytes, start, end)
    marketId = readLists(reader, noLists(), leaveOut).marketId
    highestSeq = NO_SEQ
    noteSeqs(bytes, start, end)
  }
  if (marketId !== '') return new ReceivedMarketData(marketId, copyBytes(bytes, start, end), highestSeq)
  leaveOut('invalid market ID')
  return null
}

/** Raises {@link highestSeq} by the seqs that the message `bytes[start..end)` names, which has been read. */
function noteSeqs(bytes: Buffer, start: number, end: number): void {
  reader.reset(bytes, start, end)
  while (reader.at < end) {
    const tag = reader.tag()
    if (tag === PRODUCT) noteSeqsOfProduct()
    else reader.skip(tag)
  }
}

/** Passes over a product after its tag, and raises {@link highestSeq} by the seqs that it names, up to malformed bytes. */
function noteSeqsOfProduct(): void {
  const end = reader.fieldEnd()
  productReader.reset(reader.bytes, reader.at, end)
  reader.at = end
  try {
    while (productReader.at < end) {
      const tag = productReader.tag()
      if (tag === PRODUCT) noteSeqsOfPerpetual(end)
      else productReader.skip(tag)
    }
  } catch (error) {
    if (!(error instanceof MalformedMessageError)) throw error
  }
}

/** Reads a perpetual's data after their tag, which lie in a product that ends at `end`. */
function noteSeqsOfPerpetual(end: number): void {
  const perpetualEnd = productReader.enter()
  while (productReader.at < perpetualEnd) {
    const tag = productReader.tag()
    let seq = 0n
    if (tag === SEQ) seq = productReader.uint64()
    else productReader.skip(tag)
    if (seq > highestSeq) highestSeq = seq
  }
  productReader.leave(end)
}

/** Market data whose lists are decoded when they are first requested. */
export class ReceivedMarketData implements MarketDataEvent {
  readonly kind = 'market-data'
  readonly marketId: string
  readonly highestSeq?: bigint
  readonly body: CopiedBytes
  #lists: Lists | null = null

  constructor(marketId: string, body: CopiedBytes, highestSeq?: bigint) {
    this.marketId = marketId
    this.body = body
    if (highestSeq !== undefined) this.highestSeq = highestSeq
  }

  get feeShares(): FeeShare[] {
    return this.#decoded().feeShares
  }

  get slas(): ProviderSla[] {
    return this.#decoded().slas
  }

  /** Decoded at each call; before a commit it is called once, for the market's last data. */
  get figures(): MarketFigures {
    return decodeFigures(readerAt(this.body))
  }

  #decoded(): Lists {
    if (this.#lists === null) {
      // The check has reported the elements that are left out.
      this.#lists = readLists(readerAt(this.body), noLists(), () => {})
    }
    return this.#lists
  }
}

/** The market, if the data look as in real streams. Null only means that they must be decoded to be checked. */
function findPlainMarket(): string | null {
  let marketId: string | null = null
  let elementIndex = 0
  const { bytes, end } = reader
  while (reader.at < end) {
    const tag = reader.tag()
    if (tag === MARKET) {
      const market = reader.id(MARKET_IDS)
      if (market === null) return null
      marketId = market
    } else if (tag === FEE_SHARE || tag === SLA) {
      // Elements are cached by market, which real streams name first.
      if (marketId === null) return null
      const elementEnd = reader.enter()
      const { at } = reader
      if (!plainElements.has(marketId, ++elementIndex, bytes, at, elementEnd)) {
        if (!isPlainElement()) return null
        plainElements.add(marketId, elementIndex, bytes, at, elementEnd)
      }
      reader.leave(end)
    } else if (tag === PRODUCT) {
      noteSeqsOfProduct()
    } else {
      reader.skip(tag)
    }
  }
  return marketId
}

function isPlainElement(): boolean {
  let hasParty = false
  let penalties = 0
  while (reader.at < reader.end) {
    const tag = reader.tag()
    if (tag === PARTY) {
      if (reader.id(PARTY_IDS) === null) return false
      hasParty = true
    } else if ((tag & 7) === LENGTH_DELIMITED && tag >>> 3 <= LAST_FIELD) {
      if (!reader.skipPlainText(MAX_NUMBER_LENGTH)) return false
      if (tag === PENALTIES && ++penalties > MAX_PENALTIES) return false
    } else {
      reader.skip(tag)
    }
  }
  return hasParty
}

/** A reader of its own, so that a getter does not disturb the decoding of another message. */
function readerAt({ bytes, start, end }: CopiedBytes): WireReader {
  const reader = new WireReader()
  reader.reset(bytes, start, end)
  return reader
}

function noLists(): Lists {
  return { marketId: '', feeShares: [], slas: [] }
}
