import { withoutFormula } from '../../../../src/core/domain/formula.ts'
import { exactAmount, markUnit, type Unit } from '../../figures/amount.ts'
import { watchedFetch } from '../../service/connection.ts'
import { instrumentOf, marketLabel, marketUnit } from '../../service/instruments.ts'
import { csvOf } from './csv.ts'

/** Columns of amounts in the smallest unit of the settlement asset of the row's market, also at the end of a longer name. */
const AMOUNT =
  /^(?:.*[a-z])?(?:amount|lossAmount|price|twap|fundingPayment|internalTwap|externalTwap|requiredLiquidity|feesPaid|averageEntryValuation|virtualStake|notionalVolume(?:Buys|Sells)|(?:price|twap)(?:First|Last|Minimum|Maximum))$/i

/** Prices with the decimals of the market, not those of its asset. */
const MARK_PRICE = /markPrice$/i

/** Sizes in the smallest steps of the market's positions. */
const OPEN_INTEREST = /openInterest$/i

/** Columns that say nothing to people. */
const LEFT_OUT = new Set(['cursor'])

/** How a column is written: a function of the text and of the row's market. */
type Column = { name: string; write: (text: string, marketId: string) => string }

const asSent: Column['write'] = (text) => text

const inWholeUnits =
  (unitOf: (marketId: string) => Unit | null): Column['write'] =>
  (text, marketId) =>
    exactAmount(text, unitOf(marketId))

/** The decimals of a market's positions may be below zero: its sizes are then in hundreds, say. */
const inPositions: Column['write'] = (text, marketId) => {
  const places = instrumentOf(marketId)?.positionDecimalPlaces ?? ''
  if (!/^-?\d{1,2}$/.test(places) || !/^\d+$/.test(text)) return text
  const decimals = Number(places)
  return exactAmount(text + '0'.repeat(Math.max(0, -decimals)), {
    symbol: '',
    decimals: Math.max(0, decimals),
  })
}

/**
 * Makes rows of the API readable: whole units instead of smallest ones, with the asset's symbol in a column of its own, and a
 * market's code before its id. An amount whose unit is not known stays as it is, and has no symbol. Names that a spreadsheet would run
 * are texts, as in the API's own file.
 */
export class ReadableRows {
  readonly #marketId: string | null
  #columns: readonly (Column | null)[] = []
  #market = -1
  #hasAmounts = false

  /** @param marketId the market of all rows; null if a column says it */
  constructor(marketId: string | null) {
    this.#marketId = marketId
  }

  /** The head of the readable file for that of the API's. */
  head(names: readonly string[]): string[] {
    this.#market = names.indexOf('marketId')
    const hasMarket = this.#market >= 0 || this.#marketId !== null
    this.#columns = names.map((name) => {
      if (LEFT_OUT.has(name)) return null
      if (hasMarket && MARK_PRICE.test(name))
        return { name, write: inWholeUnits((marketId) => markUnit(instrumentOf(marketId))) }
      if (hasMarket && OPEN_INTEREST.test(name)) return { name, write: inPositions }
      return { name, write: hasMarket && AMOUNT.test(name) ? inWholeUnits(marketUnit) : asSent }
    })
    this.#hasAmounts = this.#columns.some((column) => column !== null && column.write !== asSent)
    return [
      ...(hasMarket ? ['market'] : []),
      ...this.#columns.flatMap((column) => column?.name ?? []),
      ...(this.#hasAmounts ? ['asset'] : []),
    ]
  }

  /** A row of the readable file. */
  row(cells: readonly string[]): string[] {
    const marketId = this.#market >= 0 ? (cells[this.#market] ?? '') : (this.#marketId ?? '')
    return [
      ...(marketId === '' ? [] : [withoutFormula(marketLabel(marketId))]),
      ...this.#columns.flatMap((column, index) => column?.write(cells[index] ?? '', marketId) ?? []),
      ...(this.#hasAmounts ? [withoutFormula(marketUnit(marketId)?.symbol ?? '')] : []),
    ]
  }
}

/** Cuts CSV (RFC 4180) that comes in pieces into rows of cells. */
export class CsvRows {
  #row: string[] = []
  #cell = ''
  #isQuoted = false
  /** Whether the last character was a quote within quotes, which may be the first of two. */
  #isAfterQuote = false

  /** The rows that end in a piece. */
  push(piece: string): string[][] {
    const rows: string[][] = []
    for (const character of piece) {
      if (this.#isQuoted && !this.#isAfterQuote) {
        if (character === '"') this.#isAfterQuote = true
        else this.#cell += character
        continue
      }
      const isSecondQuote = this.#isAfterQuote && character === '"'
      this.#isAfterQuote = false
      if (isSecondQuote) {
        this.#cell += '"'
        continue
      }
      this.#isQuoted = character === '"'
      if (this.#isQuoted || character === '\r') continue
      if (character === ',' || character === '\n') {
        this.#row.push(this.#cell)
        this.#cell = ''
        if (character === ',') continue
        rows.push(this.#row)
        this.#row = []
      } else this.#cell += character
    }
    return rows
  }
}

/**
 * Asks for a CSV file of the API, and makes it readable.
 *
 * @param marketId the market of all rows; null if a column says it
 * @returns the file, and its name
 */
export async function askReadable(
  url: string,
  marketId: string | null,
): Promise<{ blob: Blob; name: string }> {
  const address = new URL(url, location.origin)
  address.searchParams.set('times', 'iso')
  const answer = await watchedFetch(address)
  if (!answer.ok || answer.body === null) throw new Error(`The service answered ${answer.status}.`)
  const [rows, readable] = [new CsvRows(), new ReadableRows(marketId)]
  const parts: string[] = []
  let hasHead = false
  for await (const piece of piecesOf(answer.body)) {
    for (const row of rows.push(piece)) {
      parts.push(csvOf(hasHead ? readable.row(row) : readable.head(row), []))
      hasHead = true
    }
  }
  const name = /filename="([^"]+)"/.exec(answer.headers.get('content-disposition') ?? '')?.[1]
  return { blob: new Blob(parts, { type: 'text/csv' }), name: name ?? 'lyra.csv' }
}

/** Not every browser lets a stream be iterated. */
async function* piecesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    yield decoder.decode(value, { stream: true })
  }
}
