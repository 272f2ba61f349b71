import { fundingPeriodDataPoints } from '../resources/funding-period-data-points.ts'
import { fundingPeriods } from '../resources/funding-periods.ts'
import { instruments } from '../resources/instruments.ts'
import { liquidityProviders } from '../resources/liquidity-providers.ts'
import { keyOf, type Resource, type Row } from '../resources/resource.ts'
import { READ_STATE } from './changes.ts'
import { nextId } from './find-ids.ts'
import { stateOf } from './freshness.ts'
import { type EstimateMaker, readEstimateOf } from './funding-estimates.ts'
import type { Page, PageQuery } from './page.ts'
import { columnList, pageStatement, type Statement } from './page-statement.ts'

const namesOf = ({ storage }: Resource) => storage.columns.map(({ name }) => name).join(', ')

/** The latest period, and the last one with a payment: each with a word that says which. */
const READ_PERIODS = (
  [
    ['latest', ''],
    ['paid', 'and funding_payment is not null'],
  ] as const
)
  .map(
    ([name, condition]) => `select '${name}', ${columnList(fundingPeriods)} from (
      select ${namesOf(fundingPeriods)} from funding_periods where market_id = $1 ${condition}
      order by start_timestamp desc, seq desc limit 1) as ${name}_period`,
  )
  .join(' union all ')

const END_COLUMN = 1 + fundingPeriods.storage.columns.findIndex(({ name }) => name === 'end_timestamp')

/** The last point of each of two sources. */
const READ_POINTS = ([1, 2] as const)
  .map(
    (source) => `select ${columnList(fundingPeriodDataPoints)} from (
      select ${namesOf(fundingPeriodDataPoints)} from funding_period_data_points
      where market = $1 and source = ${source} order by timestamp desc, seq desc limit 1) as last_${source}`,
  )
  .join(' union all ')

const SOURCE_COLUMN = fundingPeriodDataPoints.storage.columns.findIndex(({ name }) => name === 'source')

const WITHIN = 'market_id >= $1 and market_id <= $2'

const READ_NUMBERS = `select market_id, cast(market as text) from markets where ${WITHIN}`

const COUNT_PROVIDERS = `
  select market_id, cast(count(*) as text) from liquidity_providers
  where ${WITHIN} and ${liquidityProviders.storage.condition} group by market_id`

/**
 * The statements that gather a page of market summaries in one snapshot, one after another: each is yielded and wants
 * its rows. A market costs some looks into indexes; its estimate, which reads the points of a period, is made where it
 * is not kept.
 */
export function* readMarketSummaries(
  query: PageQuery,
  estimates: EstimateMaker,
): Generator<Statement, Page, Row[]> {
  const [found] = yield { text: READ_STATE, values: [] }
  const state = stateOf(found!)
  const none = { rows: [], edges: null, more: false, hasRowsAtOrBefore: false, ...state }
  const { position, version } = state
  if (position === null) return none
  const ids = yield* marketsOf(query)
  const shown = ids.slice(0, query.limit)
  const hasRowsAtOrBefore = yield* isAnyAtOrBefore(query)
  if (shown.length === 0) return { ...none, hasRowsAtOrBefore }
  const ofAll = yield* readOfAll(shown)
  const rows: Row[] = []
  for (const marketId of shown) {
    const instrument = ofAll.instruments.get(marketId) ?? null
    const { running, paid } = yield* readPeriods(marketId)
    const { external, internal } = yield* readPoints(marketId, ofAll.numbers.get(marketId))
    const isEstimated = running !== null && instrument !== null
    const estimate = isEstimated ? yield* readEstimateOf(marketId, { version, position }, estimates) : null
    const providers = ofAll.providers.get(marketId) ?? '0'
    rows.push([marketId, instrument, running, paid, estimate, external, internal, providers])
  }
  return { ...none, rows, more: ids.length > shown.length, hasRowsAtOrBefore }
}

/** The markets of a page in the direction of reading, and one more where more follow. */
function* marketsOf({
  selection: { marketId },
  descending,
  cursor,
  limit,
}: PageQuery): Generator<Statement, string[], Row[]> {
  if (marketId !== undefined) {
    // A cursor is of this market: nothing follows it.
    const [row] = cursor === null ? yield nextId('market', '=', marketId) : []
    return row?.[0] == null ? [] : [marketId]
  }
  const ids: string[] = []
  let place = cursor === null ? null : (cursor[0] as string)
  while (ids.length <= limit) {
    const [row] = yield nextId('market', descending ? '<' : '>', place)
    if (row?.[0] == null) break
    place = String(row[0])
    ids.push(place)
  }
  return ids
}

/** Whether a market stands at or before the cursor, in the direction of reading. */
function* isAnyAtOrBefore({
  selection: { marketId },
  descending,
  cursor,
}: PageQuery): Generator<Statement, boolean, Row[]> {
  if (cursor === null) return false
  const operator = marketId !== undefined ? '=' : descending ? '>=' : '<='
  const [row] = yield nextId('market', operator, cursor[0] as string)
  return row?.[0] != null
}

/** What is read of all markets of a page at once: they are all there are between the first and the last. */
function* readOfAll(ids: readonly string[]) {
  const [one, other] = [ids[0]!, ids.at(-1)!]
  const [low, high] = one < other ? [one, other] : [other, one]
  const scan = {
    resource: instruments,
    selection: {},
    market: null,
    lower: { key: [low], inclusive: true },
    upper: { key: [high], inclusive: true },
    descending: false,
  }
  const named: Row[] = yield pageStatement(scan, ids.length, 'lazy')
  const numbers: Row[] = yield { text: READ_NUMBERS, values: [low, high] }
  const providers: Row[] = yield { text: COUNT_PROVIDERS, values: [low, high] }
  const byMarket = (rows: Row[]) =>
    new Map(rows.map(([marketId, value]) => [String(marketId), String(value)]))
  return {
    instruments: new Map(named.map((row) => [String(keyOf(instruments, row)[0]), instruments.node(row, {})])),
    numbers: byMarket(numbers),
    providers: byMarket(providers),
  }
}

/** Only the latest period can be running: an earlier one without an end ended in blocks that are missing. */
function* readPeriods(
  marketId: string,
): Generator<Statement, { running: string | null; paid: string | null }, Row[]> {
  const rows = yield { text: READ_PERIODS, values: [marketId] }
  const latest = rows.find(([which]) => which === 'latest')
  const paid = rows.find(([which]) => which === 'paid')
  const nodeOf = (row: Row) => fundingPeriods.node(row.slice(1), { marketId })
  return {
    running: latest !== undefined && latest[END_COLUMN] === null ? nodeOf(latest) : null,
    paid: paid === undefined ? null : nodeOf(paid),
  }
}

function* readPoints(
  marketId: string,
  number: string | undefined,
): Generator<Statement, { external: string | null; internal: string | null }, Row[]> {
  const rows = number === undefined ? [] : yield { text: READ_POINTS, values: [BigInt(number)] }
  const nodeOf = (source: number) => {
    const row = rows.find((found) => found[SOURCE_COLUMN] === source)
    return row === undefined ? null : fundingPeriodDataPoints.node(row, { marketId })
  }
  return { external: nodeOf(1), internal: nodeOf(2) }
}
