import { withOpen } from '#core/concurrency/with-open'
import { count } from '#core/domain/words'
import { BLOCKS_OF_SPAN } from '#core/resources/funding-period-data-points/table'
import { StoreError } from '#core/store/errors'
import { readLongTexts } from '#core/store/queries/contents/long-texts'
import { rowsUnder } from '#core/store/schema/ranges'
import { hasPositions, TABLES, type Table, type TextCell, tableOf } from '#core/store/schema/tables'
import { refuseOldSchema } from '#core/store/schema-version'
import type { StoreAdmin } from '#core/store/store'
import { allRows, type NamedRow, namedRow, walkTable } from '#core/store/walk-table'
import { checkAuctions } from './check-auctions.ts'
import { checkDailySums } from './check-daily-sums.ts'
import { checkSeries } from './check-series.ts'
import { covers, createSpanCheck, type SpanCheck, type SpanRules } from './check-spans.ts'
import { checkStream, type Heights, heightFault } from './check-stream.ts'
import { compareKeys, describeRow } from './compare-tables.ts'
import { type Checking, Problems } from './problems.ts'
import { faultsOfRow, hasUnknownPosition } from './row-rules.ts'

type CheckOptions = {
  signal?: AbortSignal
  /** Called with the name of the next check. */
  onStep?: (what: string) => void
}

/** The number of checked rows, and the problems found. */
export type StoreCheck = {
  problems: Problems
  /** The parts that could not be checked, with reasons. */
  notes: string[]
  /** Number of rows by table. */
  rows: Record<string, number>
  /** Whether everything could be read. */
  isReadable: boolean
}

const SPANS = tableOf('funding_period_spans')

/**
 * Checks a store in one snapshot: the database's own check, keys and their order, values, spans and series against points,
 * auctions against their events, daily sums against payments, rows against the store head and gaps, providers against lists.
 * Changes nothing. Needs memory for the funding periods of one market at a time.
 *
 * @throws {StoreError} if there is no store, or its schema is not the program's.
 */
export async function checkStore(
  store: StoreAdmin,
  { signal, onStep = () => {} }: CheckOptions = {},
): Promise<StoreCheck> {
  await refuseOldSchema(store)
  const check: StoreCheck = { problems: new Problems(), notes: [], rows: {}, isReadable: true }
  try {
    onStep(`${store.name}: the database`)
    const database = await store.checkDatabase()
    for (const problem of database.problems) check.problems.add('database', problem)
    check.notes.push(...database.notes)
    await withOpen(store.openTableReader(), (reader) =>
      checkTables({ reader, problems: check.problems, signal }, check, onStep),
    )
  } catch (error) {
    // Damage because of which the tables cannot be read.
    if (!(error instanceof StoreError)) throw error
    check.problems.add('store', error.message)
    check.isReadable = false
  }
  return check
}

async function checkTables(
  checking: Checking,
  check: StoreCheck,
  onStep: (what: string) => void,
): Promise<void> {
  const { reader, problems } = checking
  const { notes, rows } = check
  onStep('lengths of texts')
  if (!(await checkLengths(checking))) {
    notes.push('the rows were not checked: some texts are too long to be read')
    check.isReadable = false
    return
  }
  const heights = await checkStream(checking)
  const numbers = await allRows(reader, tableOf('markets'))
  const markets = new Set<TextCell>(numbers.map(([number]) => number!))
  const rowsCheck = new RowsCheck(checking, heights, markets)
  for (const table of TABLES) {
    onStep(table.name)
    await rowsCheck.checkTable(table, rows)
  }
  if (rowsCheck.unknownPositions > 0) {
    notes.push(`${count(rowsCheck.unknownPositions)} rows come from unknown blocks before the imported ones`)
  }
  let series = 0
  for (const number of markets) series += await checkSeries(checking, number)
  let auctions = 0
  for (const [, marketId] of numbers) auctions += await checkAuctions(checking, marketId!)
  const strayAuctions = rows.auction_intervals! - auctions
  if (strayAuctions > 0) problems.add('auction_intervals', `${strayAuctions} rows of unknown markets`)
  let sums = 0
  for (const [, marketId] of numbers) sums += await checkDailySums(checking, marketId!)
  const straySums = rows.funding_daily_sums! + rows.funding_payment_spans! - sums
  if (straySums > 0)
    problems.add('funding_daily_sums', `${straySums} rows of unknown markets, also in funding_payment_spans`)
  const astray = rows.funding_period_series! - series
  if (astray > 0)
    problems.add('funding_period_series', `${astray} rows of unknown markets, sources or lengths`)
  await rowsCheck.finish()
  if (heights !== null) return
  for (const [name, count] of Object.entries(rows)) {
    if (count > 0) problems.add(name, `${count} rows, although the store has ingested no block`)
  }
}

/** Checks rows for themselves and against rows of other tables, table by table in the order of {@link TABLES}. */
class RowsCheck {
  readonly #checking: Checking
  readonly #heights: Heights | null
  readonly #markets: ReadonlySet<TextCell>
  /** Markets with a list of providers. */
  readonly #lists = new Set<TextCell>()
  /** Markets with data points. */
  readonly #withPoints = new Set<TextCell>()
  readonly #spans: SpanCheck
  readonly #spansOfBlocks: SpanCheck
  /** What is checked only of some tables: the faults of a row. */
  readonly #checks: Readonly<Record<string, (row: NamedRow) => string[]>>
  /** Rows from unknown blocks, so far. */
  unknownPositions = 0

  /** @param heights null for a store without blocks */
  constructor(checking: Checking, heights: Heights | null, markets: ReadonlySet<TextCell>) {
    this.#checking = checking
    this.#heights = heights
    this.#markets = markets
    this.#spans = createSpanCheck(PERIOD_SPANS, checking)
    this.#spansOfBlocks = createSpanCheck(BLOCK_SPANS, checking)
    this.#checks = {
      liquidity_provider_lists: ({ market_id }) => {
        this.#lists.add(market_id!)
        return []
      },
      liquidity_providers: ({ market_id }) =>
        this.#lists.has(market_id!) ? [] : ['its market has no list of providers'],
    }
  }

  /** Checks all rows of a table, and counts them in `rows`: also if the table cannot be read to its end. */
  async checkTable(table: Table, rows: Record<string, number>): Promise<void> {
    const { reader, problems, signal } = this.#checking
    const isOfPoints = table.name === 'funding_period_data_points'
    rows[table.name] = 0
    let before: readonly TextCell[] | null = null
    for await (const chunk of walkTable(reader, table, {}, signal)) {
      rows[table.name]! += chunk.length
      for (const row of chunk) {
        const named = namedRow(table, row)
        for (const fault of this.#faultsOf(table, named, before, row)) {
          problems.add(describeRow(table, row), fault)
        }
        before = row
        if (isOfPoints) await this.#addPoint(named)
      }
      await this.#spansOfBlocks.compare()
    }
    await this.#spans.compare()
  }

  /** Compares what is left once all tables have been checked. */
  async finish(): Promise<void> {
    for (const market of this.#markets) if (!this.#withPoints.has(market)) this.#spans.expect(market)
    await this.#spans.compare()
  }

  #faultsOf(
    table: Table,
    named: NamedRow,
    before: readonly TextCell[] | null,
    row: readonly TextCell[],
  ): string[] {
    const faults = faultsOfRow(table, named)
    if (before !== null && compareKeys(table, before, row) >= 0) {
      faults.push('its key does not follow the one before')
    }
    if (hasUnknownPosition(named)) this.unknownPositions++
    else if (hasPositions(table)) {
      const fault = heightFault(BigInt(named.height!), this.#heights)
      if (fault !== null) faults.push(fault)
    }
    if (named.market !== undefined && !this.#markets.has(named.market)) {
      faults.push(`there is no market ${named.market}`)
    }
    faults.push(...(this.#checks[table.name]?.(named) ?? []))
    return faults
  }

  /** Counts a data point for the spans of its period and of its blocks. Points are in the order of markets. */
  async #addPoint(point: NamedRow): Promise<void> {
    if (!this.#withPoints.has(point.market!)) await this.#spans.compare()
    this.#withPoints.add(point.market!)
    this.#spans.add(point)
    if (!hasUnknownPosition(point)) this.#spansOfBlocks.add(point)
  }
}

/** Looks for texts that no event can contain, which would fill the memory. Returns whether there are none. */
async function checkLengths({ reader, problems, signal }: Checking): Promise<boolean> {
  let areShort = true
  for (const table of TABLES) {
    signal?.throwIfAborted()
    for (const { key, column, bytes, maxLength } of await reader.run(readLongTexts(table))) {
      areShort = false
      problems.add(
        describeRow(table, key),
        `${column} has ${count(bytes)} bytes, but an event can bring only ${count(maxLength)} characters`,
      )
    }
  }
  return areShort
}

/** The span of a period must be exactly the times and number of its points. */
const PERIOD_SPANS: SpanRules = {
  table: SPANS,
  ofPoint: ({ seq }) => BigInt(seq!),
  rangeOf: (market) => rowsUnder(market),
  columnsOf: async () => (_, points) => [`${points}`],
  allowances: {},
}

/** Points arrive in the order of their times, so those of one block have similar times. */
const BLOCK_SPANS: SpanRules = {
  table: tableOf('funding_period_block_spans'),
  ofPoint: ({ height }) => BigInt(height!) / BLOCKS_OF_SPAN,
  rangeOf: (market, first, last) => ({ after: [market, `${first - 1n}`], upTo: [market, `${last}`] }),
  columnsOf: async () => () => [],
  // Pruning leaves spans that are wider than their points, or have none.
  allowances: { wide: covers },
}
