import { marketSummaries } from '../../resources/market-summaries.ts'
import type { StoreVersion } from '../../store/changes.ts'
import { readEstimate } from '../../store/market-data.ts'
import { MarketSummaries } from '../../store/market-summaries.ts'
import type { PageQuery, Position } from '../../store/page.ts'
import { type AuctionsQuery, readAuctions } from '../../store/read-auctions.ts'
import { MAX_BUCKETS, readSeries, type SeriesQuery } from '../../store/read-series.ts'
import type { HoldingsQuery, Reader } from '../../store/store.ts'
import { checkSumOf } from '../http/send-json.ts'
import { BufferPool } from './buffer-pool.ts'
import { coverageBody } from './coverage-body.ts'
import { pageBody } from './page-body.ts'
import type { PageRequest } from './page-request.ts'
import { seriesBody } from './series-body.ts'

/** The check sum of more is not to take the time of the thread that serves: of so much it takes some 15 us. */
const SUMMED_BYTES = 64 * 1024

/** A page as it is answered, and how the store stood then. */
export type MadePage = {
  body: Buffer
  /** Of JSON of more than {@link SUMMED_BYTES}; null otherwise: who sends it makes it. */
  checkSum: string | null
  position: Position
  version: StoreVersion
  /** Lets the memory of `body` be used for another page: it must not be read after that. */
  release?: () => void
}

/** How a page is written: compact JSON, or the message that a method of gRPC answers with. */
export type PageForm = 'json' | 'protobuf'

/** What is answered besides pages: compact JSON, of one snapshot; or why the request is refused by it. */
export type MadeReport = {
  body: Buffer
  position: Position
  refusal?: string
  /** As of a page. */
  release?: () => void
}

/**
 * Makes pages from one snapshot of the store each; null while the store holds no block.
 *
 * Rejects with {@link StoreUnavailableError} while the store cannot be read.
 */
export type Pages = {
  make(asked: PageRequest, form?: PageForm): Promise<MadePage | null>
  report(asked: ReportRequest): Promise<MadeReport | null>
  /** Whether long pages and reports are made one after another. */
  isSerial: boolean
  close(): Promise<void>
}

/** Makes pages here, from a reader that stays its owner's to close. */
export function pagesOf(reader: Reader): Pages {
  const report = createReports(reader)
  const buffers = new BufferPool()
  return {
    make: (asked, form) => makePage(reader, asked, form, buffers),
    report,
    isSerial: false,
    close: async () => {},
  }
}

/**
 * Makes a page.
 *
 * @param buffers gives the memory for a page that the reader has not written, and takes it back
 */
export async function makePage(
  reader: Reader,
  asked: PageRequest,
  form: PageForm = 'json',
  buffers: BufferPool | null = null,
): Promise<MadePage | null> {
  const { query } = asked
  const page = await reader.page(query)
  const { position, version } = page
  if (position === null) return null
  let release: (() => void) | undefined
  const json =
    buffers === null
      ? pageBody(asked, page)
      : pageBody(asked, page, (bytes) => {
          const block = buffers.take(bytes)
          release = () => buffers.give(block)
          return Buffer.from(block, 0, bytes)
        })
  if (form === 'json') {
    const checkSum = json.length > SUMMED_BYTES ? checkSumOf(json) : null
    return { body: json, checkSum, position, version, ...(release === undefined ? {} : { release }) }
  }
  // Loaded where it is asked for: most services speak no gRPC.
  const { pageMessage } = await import('./page-message.ts')
  const body = pageMessage(query.resource, json)
  release?.()
  return { body, checkSum: null, position, version }
}

/** A request for a page of market summaries, as it can be sent between threads. */
export type SummariesRequest = Omit<PageRequest, 'query'> & { query: Omit<PageQuery, 'resource'> }

/**
 * A request for what is answered besides pages of resources: a part of what the store holds, a market's funding
 * estimate, a page of market summaries, a series, or a market's auctions.
 */
export type ReportRequest =
  | { coverage: HoldingsQuery }
  | { fundingEstimate: string }
  | { marketSummaries: SummariesRequest }
  | { series: SeriesQuery }
  | { auctions: AuctionsQuery }

/** Makes reports from a reader. */
export function createReports(reader: Reader): (asked: ReportRequest) => Promise<MadeReport | null> {
  const summaries = new MarketSummaries()
  return (asked) => {
    if ('coverage' in asked) return makeCoverage(reader, asked.coverage)
    if ('fundingEstimate' in asked) return makeFundingEstimate(reader, asked.fundingEstimate)
    if ('series' in asked) return makeSeries(reader, asked.series)
    if ('auctions' in asked) return makeAuctions(reader, asked.auctions)
    return makeMarketSummaries(reader, summaries, asked.marketSummaries)
  }
}

async function makeFundingEstimate(reader: Reader, marketId: string): Promise<MadeReport | null> {
  const found = await reader.read(() => readEstimate(marketId))
  if (found === null) return null
  const { estimate, position } = found
  return { body: Buffer.from(JSON.stringify({ fundingEstimate: estimate })), position }
}

async function makeMarketSummaries(
  reader: Reader,
  summaries: MarketSummaries,
  { query, backward }: SummariesRequest,
): Promise<MadeReport | null> {
  const asked: PageRequest = { query: { ...query, resource: marketSummaries }, backward }
  const page = await reader.read(() => summaries.read(asked.query))
  return page.position === null ? null : { body: pageBody(asked, page), position: page.position }
}

async function makeSeries(reader: Reader, query: SeriesQuery): Promise<MadeReport | null> {
  const found = await reader.read(() => readSeries(query))
  if (found === null) return null
  const { position, series, tooShort } = found
  if (tooShort === null) {
    return { body: Buffer.from(JSON.stringify(seriesBody(query.marketId, series))), position }
  }
  const asked = 'interval' in query.by ? query.by.interval : ''
  const refusal = `parsing field "interval": interval is "${asked}", allowed is one of which the range touches at most ${MAX_BUCKETS}: ${tooShort.name} or longer`
  return { body: Buffer.alloc(0), position, refusal }
}

async function makeAuctions(reader: Reader, query: AuctionsQuery): Promise<MadeReport | null> {
  const found = await reader.read(() => readAuctions(query))
  if (found === null) return null
  const { position, completeFrom, auctions } = found
  const node = {
    ...{ marketId: query.marketId, completeFrom: completeFrom.toString() },
    intervals: auctions.map(({ start, end }) => ({
      start: start.toString(),
      ...(end === null ? {} : { end: end.toString() }),
    })),
  }
  return { body: Buffer.from(JSON.stringify({ auctions: node })), position }
}

async function makeCoverage(reader: Reader, query: HoldingsQuery): Promise<MadeReport | null> {
  const holdings = await reader.holdings(query)
  if (holdings === null) return null
  const { height, timestamp } = holdings.coverage
  return {
    body: Buffer.from(JSON.stringify(coverageBody(holdings, query))),
    position: { height: height.toString(), timestamp: timestamp.toString() },
  }
}
