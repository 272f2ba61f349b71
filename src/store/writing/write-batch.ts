import { type Coverage, isWithin } from '../../domain/coverage.ts'
import type { SeriesPoint } from '../../domain/series.ts'
import {
  type Batch,
  type BatchCell,
  type BatchRow,
  isNotOlder,
  type LiquidityProviderList,
  type StreamPlace,
} from '../../resources/batch.ts'
import { liquidityProviderRows } from '../../resources/liquidity-providers/rows.ts'
import { marketDataRow } from '../../resources/market-data/row.ts'
import type { Row } from '../../resources/resource.ts'
import { type SeriesRun, SOURCES } from '../readings/counted-points.ts'
import { FIND_MARKET } from '../statements.ts'
import { marketColumn, POINT, TABLES, type Table, tableOf } from '../tables.ts'
import { spansOf } from './block-spans.ts'
import { type Period, readStartChanges, WRITE_START } from './period-starts.ts'
import {
  deleteImportedPoints,
  deleteImportedSpans,
  deleteUnplacedPoints,
  type GonePoints,
  shrinkSpans,
  undoImportedRows,
  withoutExactCopies,
} from './replace-imports.ts'
import { type Steps, sideBySide } from './steps.ts'
import { closingTime, readClosing, readLastTimestamps, writeSeries } from './write-series.ts'

/*
 * What a commit writes, in one order on every store: each step is yielded to the store's own writer, and wants its
 * rows.
 */

const POINTS = 'funding_period_data_points'

/** Series that are written side by side: what is read for them is in memory together. */
const RUNS_AT_A_TIME = 32

/** A subquery among `values` is none that a cluster takes. */
const INSERT_MARKET = `
  insert into markets (market, market_id)
  select coalesce(max(market), 0) + 1, cast($1 as text) from markets where true
  on conflict (market_id) do nothing`

/** Auctions are distinguished by their places, which those of a block that is replaced have lost. */
const DELETE_AUCTIONS_AFTER = 'delete from auctions where height = $1 and event_index > $2'

const READ_PROVISION = `
  select market_id, party_id, status, cast(height as text), event_index
  from liquidity_provisions where provision_id = $1`

/** A provider is shown again once it has a live provision: for those who follow it is a change of the row. */
const TOUCH_PROVIDER = `
  update liquidity_providers set height = $3, event_index = $4 where market_id = $1 and party_id = $2`

/** Returns a row where the market's list may be replaced. */
const CLAIM_PROVIDER_LIST = `
  insert into liquidity_provider_lists (market_id, height, event_index) values ($1, $2, $3)
  on conflict (market_id) do update set height = excluded.height, event_index = excluded.event_index
    where (excluded.height, excluded.event_index)
      >= (liquidity_provider_lists.height, liquidity_provider_lists.event_index)
  returning market_id`

const READ_PROVIDER_PARTIES = 'select party_id from liquidity_providers where market_id = $1'

const DELETE_PROVIDER = 'delete from liquidity_providers where market_id = $1 and party_id = $2'

/** Statuses of a provision that is live: active, undeployed, pending (docs/events.md). */
const LIVE_STATUSES: readonly unknown[] = [1, 5, 6]

/** Numbers of the markets seen, by id: they never change. */
export type MarketNumbers = Map<string, bigint>

/** What a store holds: before a batch, null where that is nothing, and with it. */
export type Coverages = { before: Coverage | null; after: Coverage }

/**
 * The steps that write a batch's rows, within the caller's transaction. What is imported with the batch stands in its
 * table by then.
 */
export function* writeSteps(batch: Batch, coverages: Coverages, markets: MarketNumbers): Steps {
  const { replaced, replacedImports } = batch
  if (replaced.length > 0) {
    yield { each: DELETE_AUCTIONS_AFTER, values: replaced.map(placeCells) }
  }
  if (replacedImports.length > 0) yield* undoImportedRows(replacedImports)
  yield* numberMarkets(marketsOf(batch), markets)
  let shown: Shown = new Map()
  for (const table of TABLES) {
    const rows = batch.rows.get(table.name)
    if (table.name === POINTS) {
      const periods = batch.rows.get('funding_periods') ?? []
      if (rows !== undefined || replacedImports.length > 0 || periods.length > 0) {
        yield* writePoints(table, { points: rows ?? [], periods, replacedImports }, coverages, markets)
      }
      continue
    }
    if (rows === undefined) continue
    if (table.columns[0]!.name === 'market') {
      yield { table, rows: numbered(rows, markets), countsNew: false }
    } else if (table.name === 'liquidity_provisions') shown = yield* writeProvisions(table, rows)
    else {
      if (rows.some((row) => isOfFile(table, row))) yield { each: agedText(table), values: [[]] }
      yield { table, rows, countsNew: false }
    }
  }
  const lists = [...batch.liquidityProviderLists.values()]
  const data = lists.flatMap(({ event, ...place }) => {
    const row = marketDataRow(event, place)
    return row === null ? [] : [row]
  })
  if (data.length > 0) yield { table: tableOf('market_data'), rows: data, countsNew: false }
  yield* writeProviderLists(lists, shown)
}

/** Where providers have come to be shown, by market and party: `[market, party, height, event index]`. */
type Shown = Map<string, [string, string, bigint, bigint]>

/**
 * Whether a row comes from no event but from a file of instruments: its place is before all blocks. That of an imported
 * row whose block is not known is before the first of these.
 */
function isOfFile({ name, columns }: Table, row: BatchRow): boolean {
  if (name !== 'instruments' && name !== 'assets') return false
  const at = columns.findIndex(({ name }) => name === 'height')
  return row[at] === 0n && Number(row[at + 1]) > 0
}

/** Puts rows of earlier files before those of one that comes now. */
function agedText({ name }: Table): string {
  return `update ${name} set event_index = 1 where height = 0 and event_index > 0`
}

/** The markets that any row of a batch names. */
function marketsOf({ rows, liquidityProviderLists }: Batch): Set<string> {
  const ids = new Set(liquidityProviderLists.keys())
  for (const [name, ofTable] of rows) {
    const at = marketColumn(tableOf(name))
    if (at >= 0) for (const row of ofTable) ids.add(row[at] as string)
  }
  return ids
}

/** Gives each market a number: the table of them is the list of all that are known. */
function* numberMarkets(ids: Iterable<string>, markets: MarketNumbers): Steps {
  const unknown = [...ids].filter((id) => !markets.has(id))
  // One after another: each takes the next number.
  for (const id of unknown) yield { each: INSERT_MARKET, values: [[id]] }
  const numbers = yield { each: FIND_MARKET, values: unknown.map((id) => [id]) }
  for (const [index, id] of unknown.entries()) markets.set(id, BigInt(numbers[index]![0]![0]!))
}

/** Rows of a table that names markets by their numbers, with these in the place of the markets' ids. */
function numbered(rows: readonly BatchRow[], markets: MarketNumbers): BatchRow[] {
  return rows.map((row): BatchRow => row.with(0, markets.get(row[0] as string)!))
}

/** What changes the data points of a store, or the series of them. */
type PointChanges = {
  points: readonly BatchRow[]
  /** Rows of `funding_periods`, which are written already. */
  periods: readonly BatchRow[]
  replacedImports: readonly bigint[]
}

/** Writes data points, their spans and series; those that an import brought for blocks of the batch go before. */
function* writePoints(
  table: Table,
  { points: named, periods, replacedImports }: PointChanges,
  { before, after: { imported } }: Coverages,
  markets: MarketNumbers,
): Steps {
  const given = numbered(named, markets)
  const gone: GonePoints = new Map()
  const hadImports = replacedImports.length > 0 ? yield* deleteImportedPoints(replacedImports, gone) : []
  const heightOf = (row: BatchRow) => row[POINT.height] as bigint
  const heldUpTo = before?.height ?? -1n
  const history = given.filter((point) => heightOf(point) <= heldUpTo)
  if (history.length > 0) yield* deleteUnplacedPoints(history, gone)
  const points = yield* withoutExactCopies(given)
  const runs = runsOf(points)
  for (const [key, { run }] of gone) if (!runs.has(key)) runs.set(key, { run, points: [], rows: [] })
  const touched = touchedPeriods([...runs.values()], periods, gone, markets)
  const starts = yield* readStartChanges(touched, markets)
  const isLosing = new Set([...gone.values()].map(({ run }) => run.market))
  for (const [market, { isChanged }] of starts) {
    for (const source of isChanged || isLosing.has(market) ? SOURCES : []) {
      const key = `${market} ${source}`
      if (!runs.has(key)) runs.set(key, { run: { market, source }, points: [], rows: [] })
    }
  }
  const lasts = yield* readLastTimestamps([...runs.values()].map(({ run }) => run))
  if (gone.size > 0) yield* shrinkSpans(gone)
  // In the order of the key: neighbours are written to the same page.
  const rows = [...runs.values()].sort(byKey).flatMap((run) => run.rows)
  const lastImported = imported.at(-1)?.to ?? -1n
  const besideImports = points.some((point) => heightOf(point) <= lastImported)
  const [counts = []] = yield {
    ...{ table, rows, countsNew: true },
    ...(besideImports ? { besideImports: imported } : {}),
  }
  const spans = spansOf(points, {
    newPoints: new Map(counts.map(([market, seq, count]) => [`${market} ${seq}`, BigInt(count!)])),
    startOf: (market, seq) => starts.get(market)?.now.get(seq) ?? null,
    isImported: besideImports ? (height) => isWithin(imported, height) : () => false,
  })
  yield { table: tableOf('funding_period_spans'), rows: spans.periods, countsNew: false }
  yield { table: tableOf('funding_period_block_spans'), rows: spans.blocks, countsNew: false }
  if (spans.imported.length > 0) {
    yield { table: tableOf('funding_period_imported_spans'), rows: spans.imported, countsNew: false }
  }
  yield* deleteImportedSpans(hadImports, replacedImports, imported)
  const moved = [...starts].flatMap(([market, { moved, now }]) =>
    moved.map((seq): BatchRow => [market, seq, now.get(seq) ?? null]),
  )
  if (moved.length > 0) yield { each: WRITE_START, values: moved }
  const all = [...runs.values()]
  // Without a loss the new closing times follow from those of before.
  const reread = gone.size + moved.length > 0 ? yield* readClosing(all.map(({ run }) => run)) : null
  const series = all.map(({ run, points }, index) => {
    const { lastBefore, lastSeqBefore, ...change } = starts.get(run.market)!
    const lost = gone.get(`${run.market} ${run.source}`)
    const last = latest([lasts[index]!, ...(lost?.times ?? [])])
    const before = closingTime(last, lastBefore)
    const given = latest([last, points.at(-1)?.timestamp ?? null])
    const now =
      reread === null
        ? latest([closingTime(given, lastBefore), ...(given === null ? [] : change.now.values())])
        : reread[index]!
    return writeSeries(run, {
      closing: { before, now },
      points,
      gone: (lost?.times ?? []).map((timestamp, at) => ({ timestamp, seq: lost!.seqs[at]! })),
      moved: change.moved,
      starts: change,
      isAhead: points.every(({ seq }) => seq >= lastSeqBefore),
    })
  })
  for (let at = 0; at < series.length; at += RUNS_AT_A_TIME)
    yield* sideBySide(series.slice(at, at + RUNS_AT_A_TIME))
}

function latest(times: readonly (bigint | null)[]): bigint | null {
  return times.reduce((a, b) => (a === null || (b !== null && b > a) ? b : a), null)
}

/** The periods that a batch touches: its own, those of its points, and those of points that are gone. */
function touchedPeriods(
  runs: readonly PointRun[],
  periods: readonly BatchRow[],
  gone: GonePoints,
  markets: MarketNumbers,
): Period[] {
  const touched = new Map<string, Period>()
  const touch = (market: bigint, seq: bigint): Period => {
    const key = `${market} ${seq}`
    let period = touched.get(key)
    if (period === undefined) {
      period = { market, seq, hasArrived: false, hasPoints: false }
      touched.set(key, period)
    }
    return period
  }
  for (const { run, points } of runs) {
    let last: bigint | null = null
    for (const { seq } of points) {
      if (seq !== last) touch(run.market, seq).hasPoints = true
      last = seq
    }
  }
  for (const [id, seq] of periods) touch(markets.get(id as string)!, seq as bigint).hasArrived = true
  for (const { run, seqs } of gone.values()) for (const seq of seqs) touch(run.market, seq)
  return [...touched.values()]
}

/** The points of one source of a market: as rows, and as series take them. */
type PointRun = { run: SeriesRun; points: readonly SeriesPoint[]; rows: readonly BatchRow[] }

const byKey = ({ run: a }: PointRun, { run: b }: PointRun) =>
  Number(a.market - b.market) || Number(a.source - b.source)

/** Points by their run, `${market} ${source}`. */
function runsOf(rows: readonly BatchRow[]): Map<string, PointRun> {
  const byMarket = new Map<BatchCell, BatchRow[][]>()
  for (const row of rows) {
    const market = row[POINT.market]!
    const source = Number(row[POINT.source])
    let bySource = byMarket.get(market)
    if (bySource === undefined) {
      bySource = []
      byMarket.set(market, bySource)
    }
    const run = bySource[source]
    if (run === undefined) bySource[source] = [row]
    else run.push(row)
  }
  const runs = new Map<string, PointRun>()
  for (const [market, bySource] of byMarket) {
    for (const [source, some] of bySource.entries()) {
      if (some !== undefined) runs.set(`${market} ${source}`, runOf(some))
    }
  }
  return runs
}

/** Points of one source of a market in the order of the key, of each key the newest. */
function runOf(given: readonly BatchRow[]): PointRun {
  // Those of a stream mostly are in order.
  const isInOrder = given.every((row, index) => index === 0 || compareKeys(given[index - 1]!, row) < 0)
  const rows = isInOrder ? given : sortedRun(given)
  const points = rows.map((row) => ({
    time: row[POINT.timestamp] as bigint,
    timestamp: row[POINT.timestamp] as bigint,
    seq: row[POINT.seq] as bigint,
    price: row[POINT.price] as string,
    twap: row[POINT.twap] as string,
  }))
  const [market, source] = rows[0]!
  return { run: { market: market as bigint, source: BigInt(source!) }, points, rows }
}

/** Compares points of one run by time and seq. */
function compareKeys(a: BatchRow, b: BatchRow): number {
  for (const at of [POINT.timestamp, POINT.seq]) {
    const one = a[at] as bigint
    const other = b[at] as bigint
    if (one !== other) return one < other ? -1 : 1
  }
  return 0
}

function sortedRun(given: readonly BatchRow[]): BatchRow[] {
  const placeOf = (row: BatchRow) => ({
    height: row[POINT.height] as bigint,
    eventIndex: Number(row[POINT.eventIndex]),
  })
  const rows = given.toSorted((a, b) => compareKeys(a, b) || (isNotOlder(placeOf(a), placeOf(b)) ? 1 : -1))
  return rows.filter((row, index) => index === rows.length - 1 || compareKeys(row, rows[index + 1]!) !== 0)
}

function* writeProvisions(table: Table, rows: readonly BatchRow[]): Steps<Shown> {
  const ids = [...new Set(rows.map(([id]) => id!))].map((id): BatchRow => [id])
  const before = yield { each: READ_PROVISION, values: ids }
  yield { table, rows, countsNew: false }
  const after = yield { each: READ_PROVISION, values: ids }
  const shown: Shown = new Map()
  for (const [index, [now]] of after.entries()) {
    const was = before[index]![0]
    const [marketId, partyId, status, height, eventIndex] = now!
    const wasLive = was !== undefined && LIVE_STATUSES.includes(Number(was[2]))
    const isLive = LIVE_STATUSES.includes(Number(status))
    if (!isLive || (wasLive && was[0] === marketId && was[1] === partyId)) continue
    // What an import brings from before its blocks stands at no place that anybody follows.
    if (BigInt(height!) === 0n) continue
    const row: [string, string, bigint, bigint] = [
      ...([String(marketId), String(partyId)] as const),
      ...([BigInt(height!), BigInt(eventIndex!)] as const),
    ]
    const known = shown.get(`${marketId} ${partyId}`)
    if (known === undefined || isLater(row, known)) shown.set(`${marketId} ${partyId}`, row)
  }
  if (shown.size > 0) yield { each: TOUCH_PROVIDER, values: [...shown.values()] }
  return shown
}

const isLater = ([, , height, index]: readonly unknown[], [, , other, otherIndex]: readonly unknown[]) =>
  isNotOlder(
    { height: height as bigint, eventIndex: Number(index) },
    { height: other as bigint, eventIndex: Number(otherIndex) },
  )

/**
 * A list is newer than the market's other ones, or is not written at all; its rows have the places of what last changed
 * them, as it was committed: that is what those who follow lack.
 */
function* writeProviderLists(lists: readonly LiquidityProviderList[], shown: Shown): Steps {
  if (lists.length === 0) return
  const claims = yield {
    each: CLAIM_PROVIDER_LIST,
    values: lists.map(({ event, ...place }) => [event.marketId, ...placeCells(place)]),
  }
  const claimed = lists.filter((_, index) => claims[index]!.length > 0)
  if (claimed.length === 0) return
  const known = yield { each: READ_PROVIDER_PARTIES, values: claimed.map(({ event }) => [event.marketId]) }
  const rows: BatchRow[] = []
  const gone: BatchRow[] = []
  for (const [index, { event, ...place }] of claimed.entries()) {
    const providers = liquidityProviderRows(event)
    const parties = new Set(providers.map(({ partyId }) => partyId))
    for (const [party] of known[index]!) {
      if (!parties.has(party as string)) gone.push([event.marketId, party!])
    }
    for (const { partyId, feeShare, sla } of providers) {
      const touched = shown.get(`${event.marketId} ${partyId}`)
      const own = [event.marketId, partyId, ...placeCells(place)]
      const last = touched !== undefined && isLater(touched, own) ? touched : own
      rows.push([event.marketId, partyId, feeShare, sla, ...last.slice(2)])
    }
  }
  if (gone.length > 0) yield { each: DELETE_PROVIDER, values: gone }
  yield { table: tableOf('liquidity_providers'), rows, countsNew: false }
}

const placeCells = ({ height, eventIndex }: StreamPlace): BatchCell[] => [height, BigInt(eventIndex)]

/** How many rows there are of each pair of cells, after the pair as text: `[market, seq, count]`. */
export function countPairs(rows: readonly (readonly unknown[])[], firstAt: number, secondAt: number): Row[] {
  type Count = [first: string, second: string, count: number]
  const counts = new Map<string, Count>()
  let last: readonly unknown[] | undefined
  let count: Count | undefined
  for (const row of rows) {
    // Those of one pair mostly follow on each other.
    if (count === undefined || row[firstAt] !== last![firstAt] || row[secondAt] !== last![secondAt]) {
      const key = `${row[firstAt]} ${row[secondAt]}`
      count = counts.get(key) ?? [String(row[firstAt]), String(row[secondAt]), 0]
      counts.set(key, count)
      last = row
    }
    count[2]++
  }
  return [...counts.values()]
}

/** The key of a table's row, as text. */
export function keyText({ keyLength }: Table, row: BatchRow): string {
  return row.slice(0, keyLength).join(' ')
}

/** One row for each key: a statement cannot write a row twice. What stands of two is what upserts of both leave. */
export function mergeRows(table: Table, rows: readonly BatchRow[]): readonly BatchRow[] {
  if (rows.every((row, index) => index === 0 || isKeyAfter(table, row, rows[index - 1]!))) return rows
  const merged = new Map<string, BatchRow>()
  for (const row of rows) {
    const key = keyText(table, row)
    const known = merged.get(key)
    merged.set(key, known === undefined ? row : mergeTwo(table, known, row))
  }
  return merged.size === rows.length ? rows : [...merged.values()]
}

/** Whether the key of a row is greater than that of another one. */
function isKeyAfter({ keyLength }: Table, row: BatchRow, other: BatchRow): boolean {
  for (let at = 0; at < keyLength; at++) {
    const [a, b] = [row[at]!, other[at]!]
    if (a !== b) return a > b
  }
  return false
}

function mergeTwo(table: Table, known: BatchRow, given: BatchRow): BatchRow {
  const { last, start, isNewerAll } = mergePlanOf(table)
  const isNewer = last === null || isNotOlder(placeAt(given, last), placeAt(known, last))
  if (isNewerAll) return isNewer ? given : known
  const isEarlier = start !== null && isEarlierStart(placeAt(given, start), placeAt(known, start))
  return table.columns.map(({ merge }, index) => {
    const [a, b] = [known[index]!, given[index]!]
    switch (merge) {
      case 'newer':
        return isNewer ? b : a
      case 'earliest':
        return isEarlier ? b : a
      case 'least':
        return b < a ? b : a
      case 'greatest':
        return b > a ? b : a
      case 'sum':
        return (a as bigint) + (b as bigint)
      case 'given':
        return b
      default:
        return merge satisfies never
    }
  })
}

/** Where a table's columns have a place in the stream: its height, and the event. */
type PlaceColumns = readonly [height: number, index: number]

/** The place that a row was last changed at, and that of its start; null where the table has none. */
type MergePlan = { last: PlaceColumns | null; start: PlaceColumns | null; isNewerAll: boolean }

const mergePlans = new Map<Table, MergePlan>()

function mergePlanOf(table: Table): MergePlan {
  const known = mergePlans.get(table)
  if (known !== undefined) return known
  const { columns } = table
  const at = (name: string) => columns.findIndex((column) => column.name === name)
  const plan: MergePlan = {
    last: at('event_index') < 0 ? null : [at('height'), at('event_index')],
    start: at('start_index') < 0 ? null : [at('start_height'), at('start_index')],
    isNewerAll: columns.every(({ merge }) => merge === 'newer'),
  }
  mergePlans.set(table, plan)
  return plan
}

function placeAt(row: BatchRow, [height, index]: PlaceColumns): StreamPlace {
  return { height: row[height] as bigint, eventIndex: Number(row[index]) }
}

/** Whether a period's start comes from an earlier event than another one; one of height 0 from an event that is not known. */
function isEarlierStart(given: StreamPlace, known: StreamPlace): boolean {
  if (known.height === 0n || given.height === 0n) return known.height === 0n
  return !isNotOlder(given, known)
}
