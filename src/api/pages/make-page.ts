import type { StoreVersion } from '../../store/changes.ts'
import type { HoldingsQuery, Position, Reader } from '../../store/store.ts'
import { checkSumOf } from '../http/send-json.ts'
import { coverageBody } from './coverage-body.ts'
import { fundingEstimateOf } from './funding-estimate.ts'
import { pageBody } from './page-body.ts'
import { type PageScope, scopeOfPage } from './page-cache.ts'
import type { PageRequest } from './page-request.ts'

/** A page as it is answered: compact JSON, and what of the store it shows. */
export type MadePage = {
  json: Buffer
  checkSum: string
  scope: PageScope
  position: Position
  version: StoreVersion
  /** Lets the memory of `json` be used for another page: nobody may look at it any more. */
  release?: () => void
}

/** What is answered besides pages: compact JSON, of one snapshot. */
export type MadeReport = { json: Buffer; position: Position }

/**
 * Makes pages from one snapshot of the store each; null while the store holds no block.
 *
 * Rejects with {@link StoreUnavailableError} while the store cannot be read.
 */
export type Pages = {
  make(asked: PageRequest): Promise<MadePage | null>
  report(asked: ReportRequest): Promise<MadeReport | null>
  close(): Promise<void>
}

/** Makes pages here, from a reader that stays its owner's to close. */
export function pagesOf(reader: Reader): Pages {
  return {
    make: (asked) => makePage(reader, asked),
    report: (asked) => makeReport(reader, asked),
    close: async () => {},
  }
}

export async function makePage(reader: Reader, asked: PageRequest): Promise<MadePage | null> {
  const page = await reader.page(asked.query)
  const { position, version } = page
  if (position === null) return null
  const json = pageBody(asked, page)
  return {
    json,
    checkSum: checkSumOf(json),
    scope: scopeOfPage(asked.query),
    position,
    version,
  }
}

/** A request for what is answered besides pages: a part of what the store holds, or a market's funding estimate. */
export type ReportRequest = { coverage: HoldingsQuery } | { fundingEstimate: string }

export async function makeReport(reader: Reader, asked: ReportRequest): Promise<MadeReport | null> {
  return 'coverage' in asked
    ? makeCoverage(reader, asked.coverage)
    : makeFundingEstimate(reader, asked.fundingEstimate)
}

async function makeFundingEstimate(reader: Reader, marketId: string): Promise<MadeReport | null> {
  const found = await reader.fundingInputs(marketId)
  if (found === null) return null
  const fundingEstimate = fundingEstimateOf(marketId, found)
  return { json: Buffer.from(JSON.stringify({ fundingEstimate })), position: found.position }
}

async function makeCoverage(reader: Reader, query: HoldingsQuery): Promise<MadeReport | null> {
  const holdings = await reader.holdings(query)
  if (holdings === null) return null
  const { height, timestamp } = holdings.coverage
  return {
    json: Buffer.from(JSON.stringify(coverageBody(holdings, query))),
    position: { height: height.toString(), timestamp: timestamp.toString() },
  }
}
