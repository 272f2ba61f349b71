import assert from 'node:assert/strict'
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { describe, type TestContext, test } from 'node:test'
import { DAY } from '#core/domain/time'
import { idSet } from '#core/model/filters'
import {
  type Filter,
  isOfAllMarkets,
  type Key,
  type Resource,
  type Row,
  type Selection,
} from '#core/model/resource'
import { RESOURCES } from '#core/resources/resources'
import { filtersBySpan } from '#core/store/pages/locate'
import type { PageQuery } from '#core/store/pages/page'
import type { KeySpan, PageScans } from '#core/store/pages/scan'
import { areAdjacent, pageScans } from '#core/store/pages/scan'
import { pageStatement, SQLITE_HINTS } from '#core/store/pages/scan-sql'
import { parsePostgresAddress } from '#core/store/postgres/address'
import { connect } from '#core/store/postgres/connection/connection'
import { readerConfig, writerConfig } from '#core/store/postgres/connection/session'
import { columnsStatement, isReadAsColumns, rowsStatement } from '#core/store/postgres/pages/page-statements'
import { readSumRows } from '#core/store/queries/payments/daily-sums'
import { READ_LAST_UP_TO_HEIGHT } from '#core/store/queries/payments/summed-days'
import { READ_LAST_TIMESTAMP } from '#core/store/queries/series/counted-points'
import { readUnseenRows } from '#core/store/queries/unseen/unseen-rows'
import type { Statement, StatementOnce } from '#core/store/queries-protocol'
import { TABLES } from '#core/store/schema/tables'
import { edgesStatement, existsStatement } from '#core/store/sqlite/page-statements'
import { generateRecords } from '#tools/generate/generate'
import { idOf } from '../../fixtures/events/event-stream.ts'
import { scaled } from '../../fixtures/sampling.ts'
import type { Scope } from '../../fixtures/scope.ts'
import { FILE, ingest } from '../../fixtures/services/service.ts'
import {
  openStore,
  SQLITE,
  STORE_KINDS,
  type StoreKind,
  temporaryFolder,
} from '../../fixtures/stores/stores.ts'

const LIMIT = 100

/** A page whose plan is checked; ids and times are filled in from the data. */
type PlannedPage = {
  resource: Resource
  filters: readonly Filter[]
  isRanged: boolean
  /** The place of the cursor in the data, from 0 to 1; null for a first page. */
  depth: number | null
}

/** The pages of every resource: of each filter, of two, of a range of times. */
const PAGES: PlannedPage[] = RESOURCES.flatMap((resource) => {
  const { filters, required, dateRange } = resource
  const choices = [
    [],
    ...filters.map((filter) => [filter]),
    ...(filters.length > 1 ? [filters.slice(0, 2)] : []),
  ]
  return choices
    .filter(
      (choice) => required.list === undefined || choice.some(({ name }) => required.list!.includes(name)),
    )
    .flatMap((choice) =>
      (dateRange ? [false, true] : [false]).map((isRanged) => ({ filters: choice, isRanged })),
    )
    .flatMap((page) => [null, 0.5].map((depth) => ({ resource, ...page, depth })))
})

/** Streams of every resource: of each choice of filters that they take, of one market and of all. */
const STREAMS = RESOURCES.flatMap((resource) => {
  const { filters, required, scope } = resource
  const choices = [[], ...filters.map(({ name }) => [name])].filter(
    (names) => required.stream === undefined || names.some((name) => required.stream!.includes(name)),
  )
  const markets = scope === null ? [[]] : [[scope], []]
  return markets.flatMap((market) => choices.map((names) => ({ resource, names: [...market, ...names] })))
})

/** Which index finds the rows of some blocks among those of all markets. */
const byPlace = ({ storage: { table, hasBlockSpans } }: Resource): RegExp =>
  hasBlockSpans
    ? /\bfunding_period_block_spans_by_blocks\b/
    : new RegExp(`\\b${table}_by_(?:height|place)\\b`)

/** Of these tables there are a few rows for each market, or one for each day. */
const SHORT = /^(?:instruments|instrument_terms|assets|markets|stream|gaps|imported|since|epochs|epoch_ends)$/

/** More providers for each market than fit on a page. */
const LISTS = { markets: 10, points: 10, parties: 1_000, events: 0 }

/** Facts about the data for requests: a market, a party, and the times of its points. */
type Facts = {
  marketId: string
  /** The market with the most providers. */
  providersMarketId: string
  partyId: string
  /** A party that was paid fees, and the asset and the epoch of some of them. */
  paidPartyId: string
  assetId: string
  epoch: bigint
  first: bigint
  last: bigint
  height: bigint
  /** A period in the middle, and the times of its points. */
  seq: bigint
  span: KeySpan
}

function queryOf(
  { resource, filters, isRanged, depth }: PlannedPage,
  facts: Facts,
  descending: boolean,
): PageQuery {
  const values: Selection = {
    ...valuesOf(facts),
    marketId: resource.scope === null ? facts.providersMarketId : facts.marketId,
    source: 1n,
  }
  const named = [...(resource.scope === null ? [] : [resource.scope]), ...filters.map(({ name }) => name)]
  const selection: Selection = {
    ...Object.fromEntries(named.map((name) => [name, values[name] ?? facts.seq])),
    ...(isRanged ? { from: 0n, to: 2n ** 62n } : {}),
  }
  const cursor = depth === null ? null : cursorAt(resource, selection, facts, depth)
  return { resource, selection, descending, cursor, limit: LIMIT }
}

/** Values of filters that rows have, but for the market and the source. */
const valuesOf = ({ partyId, paidPartyId, assetId, epoch, seq }: Facts): Selection => ({
  partyId,
  partyIds: idSet([paidPartyId]),
  assetId,
  epochSeq: epoch,
  epochFrom: epoch,
  epochTo: epoch,
  seq,
})

/** A key at a fraction of a list; a row with it need not exist. */
function cursorAt(resource: Resource, selection: Selection, facts: Facts, depth: number): Key {
  const share = (value: bigint) => (value * BigInt(Math.round(depth * 1000))) / 1000n
  const party = share(2n ** 32n)
    .toString(16)
    .padStart(8, '0')
    .padEnd(64, '0')
  return resource.key.map(({ column, type }, index) => {
    if (column === 'market_id') return selection.marketId ?? facts.providersMarketId
    if (type === 'id') return selection.partyId ?? party
    if (type === 'text') return ''
    if (index > 0) return 0n
    return column === 'at_block' ? share(facts.height) : facts.first + share(facts.last - facts.first)
  })
}

async function fill(t: Scope, store: string, blocks: number): Promise<void> {
  const path = join(temporaryFolder(t), 'stream.evts')
  await pipeline(Readable.from(generateRecords({ blocks, ...LISTS })), createWriteStream(path))
  await ingest(store, path)
}

const stores = new Map<StoreKind, Promise<string>>()

/** A store that all tests read. SQLite plans by the schema alone, PostgreSQL by the rows too. */
function filled(kind: StoreKind): Promise<string> {
  const store = kind.create(FILE)
  const found =
    stores.get(kind) ?? fill(FILE, store, scaled(kind === SQLITE ? 700 : 2_000, 50_000)).then(() => store)
  stores.set(kind, found)
  return found
}

const FACTS = `
  select markets.market_id,
    (select market_id from liquidity_providers group by market_id order by count(*) desc limit 1),
    (select min(party_id) from liquidity_providers), fees.party_id, fees.asset_id, cast(-fees.reverse_epoch as text),
    cast((select min(first_timestamp) from funding_period_spans) as text),
    cast((select max(last_timestamp) from funding_period_spans) as text),
    cast((select height from stream) as text),
    cast(middle.seq as text), cast(middle.first_timestamp as text), cast(middle.last_timestamp as text)
  from markets
  join (select * from paid_liquidity_fees_stats_parties order by party_id limit 1) as fees on true
  join (select * from funding_period_spans where market = 1 order by seq limit 1 offset 1) as middle on true
  where markets.market = 1`

function factsOf(row: string[]): Facts {
  const [marketId, providersMarketId, partyId, paidPartyId, assetId, ...numbers] = row
  const [epoch, first, last, height, seq, from, to] = numbers.map(BigInt)
  return {
    marketId: marketId!,
    providersMarketId: providersMarketId!,
    partyId: partyId!,
    paidPartyId: paidPartyId!,
    assetId: assetId!,
    epoch: epoch!,
    first: first!,
    last: last!,
    height: height!,
    seq: seq!,
    span: { first: from!, last: to! },
  }
}

/** The number of the requested market; null if rows name their market by id. */
const marketOf = ({ resource: { storage } }: PageQuery) => (storage.marketColumn === 'market' ? 1n : null)

const scansOf = (query: PageQuery, { span }: Facts): PageScans => {
  const isInSpan = filtersBySpan(query.resource, query.selection).length > 0
  return pageScans(query, isInSpan ? span : null, marketOf(query))
}

/** Whether a filter is no range: its rows are found by an index. */
const isOfValues = ({ operator }: Filter) => operator === '=' || operator === 'in'

const nameOf = ({ resource, filters, ...rest }: PlannedPage, descending: boolean) =>
  JSON.stringify({ resource: resource.name, filters: filters.map(({ name }) => name), ...rest, descending })

function sqliteStatements({ page, atOrBefore }: PageScans): [string, Statement][] {
  return [
    ['rows', pageStatement(page, LIMIT + 1, SQLITE_HINTS)],
    ['edges', edgesStatement(page, LIMIT + 1, false)],
    ...(atOrBefore === null
      ? []
      : [['at or before the cursor', existsStatement(atOrBefore)] as [string, Statement]]),
  ]
}

describe('the plans of pages', () => {
  for (const kind of STORE_KINDS) {
    test(`every page is an index scan (${kind.name})`, async (t) => {
      const planned = await openPlanned(t, kind)
      for (const page of PAGES) {
        for (const descending of [true, false]) await checkPage(planned, page, descending)
      }
    })
  }

  test('a page that says it reads only its rows has no condition but the range of its key', async (t) => {
    const { facts, plan } = await openPlanned(t, SQLITE!)
    const adjacent = new Set<string>()
    for (const page of PAGES) {
      const query = queryOf(page, facts, true)
      const { resource, selection } = query
      if (!areAdjacent(resource, resource.selectionRule?.(selection, 'list') ?? selection)) continue
      adjacent.add(resource.name)
      for (const [what, statement] of sqliteStatements(scansOf(query, facts)).slice(1)) {
        const where = `${nameOf(page, true)}, ${what}:\n${statement.text}`
        // Each filter has a hint (scan-sql.ts).
        assert.doesNotMatch(statement.text, /likely|likelihood|where exists|and exists|json_each/, where)
        assert.doesNotMatch((await plan(statement)).text, /TEMP B-TREE/, where)
      }
    }
    const names = ['auctions', 'checkpoints', 'fundingPeriodDataPoints', 'fundingPeriods']
    assert.deepEqual([...adjacent].sort(), names)
  })

  for (const kind of STORE_KINDS.filter(({ name }) => name !== 'citus')) {
    test(`every stream is read by an index, that of all markets by one on its blocks (${kind.name})`, async (t) => {
      const planned = await openPlanned(t, kind)
      const { facts } = planned
      for (const { resource, names } of STREAMS) {
        const values: Selection = {
          ...valuesOf(facts),
          marketId: facts.providersMarketId,
          source: 2n,
        }
        if (resource.scope !== null) values.marketId = facts.marketId
        const ofParty = resource.filters.find(({ name }) => name === 'partyId')
        if (ofParty !== undefined) {
          const text = `select min(${ofParty.columns[0]}) from ${resource.storage.table}`
          values.partyId = String((await planned.rows({ text, values: [] }))[0]![0])
        }
        const selection: Selection = Object.fromEntries(
          names.map((name) => [name, values[name] ?? facts.seq]),
        )
        const unseen = { first: 0n, gaps: [], tail: { height: facts.height / 2n, index: 0 } }
        const query = { resource, selection, unseen, asOf: null, limit: LIMIT, pass: null }
        const where = `the stream of ${resource.name}, by ${names}`
        const reading = readUnseenRows(query)
        let usesPlace = false
        let step = reading.next()
        while (step.done !== true) {
          const statement: Statement = { values: [], ...(step.value as StatementOnce) }
          const plan = await planned.plan(statement)
          for (const table of plan.scanned)
            assert.ok(SHORT.test(table), `${where}: ${table} is read whole:\n${plan.text}`)
          usesPlace ||= byPlace(resource).test(plan.text)
          step = reading.next(await planned.rows(statement))
        }
        // A period's rows may come later.
        assert.ok(
          step.value!.rows.length > 0 || names.includes('seq'),
          `${where}: no rows; does lyra generate send their events?`,
        )
        const isByPlace = isOfAllMarkets(resource, selection) || resource.storage.hasPositionsOfAllMarkets
        if (isByPlace && selection.partyId === undefined) assert.ok(usesPlace, where)
      }
    })
  }

  for (const kind of STORE_KINDS.filter(({ name }) => name !== 'citus')) {
    test(`the newest payment up to a block is found by its time, without sorting others (${kind.name})`, async (t) => {
      const planned = await openPlanned(t, kind)
      const { text } = await planned.plan({ text: READ_LAST_UP_TO_HEIGHT, values: [planned.facts.height] })
      assert.match(text, /funding_payments_by_time/)
      assert.doesNotMatch(text, /TEMP B-TREE|"Sort"/)
    })
  }

  // SQLite plans each prepared statement anew, and has only one index to choose.
  for (const kind of STORE_KINDS.filter(({ name }) => name === 'postgres')) {
    test('a writer that started with empty tables does not scan all points', async (t) => {
      const store = kind.create(t)
      await (await openStore(store).openWriter()).close()
      const client = await connect(writerConfig(parsePostgresAddress(store)))
      t.after(() => client.end())
      await client.query(`prepare last_time (bigint, bigint) as ${READ_LAST_TIMESTAMP}`)
      // More often than the server plans anew before it keeps one plan.
      for (let turn = 0; turn < 10; turn++) await client.query('execute last_time (1, 2)')
      await fill(t, store, 1_000)
      const plan = planOf(await client.query('explain (analyze, format json) execute last_time (1, 2)'))
      checkNode(plan, JSON.stringify(plan, null, 1))
    })

    test('the payments of a day are added up without reading those of other days', async (t) => {
      const store = kind.create(t)
      const config = writerConfig(parsePostgresAddress(store))
      await (await openStore(store).openWriter()).close()
      const client = await connect(config)
      t.after(() => client.end())
      const marketId = idOf('a')
      await client.query(`
        insert into funding_payments (market_id, party_id, seq, timestamp, amount, loss_amount, height, event_index)
        select '${marketId}', lpad(to_hex(party), 64, '0'), hour, hour * ${DAY / 24n}, '1', '0', hour, 1
        from generate_series(1, 20 * 24) hour, generate_series(1, 100) party`)
      await client.query('vacuum (analyze) funding_payments')
      await client.query('set plan_cache_mode = force_generic_plan')
      const step = readSumRows({ marketId, day: 9n }).next()
      const { text, values } = step.value as Required<StatementOnce>
      await client.query(`prepare payments_of_day as ${text}`)
      const plan = planOf(
        await client.query(
          `explain (analyze, format json) execute payments_of_day (${values.map((value) => `'${value}'`).join(', ')})`,
        ),
      )
      const where = JSON.stringify(plan, null, 1)
      for (const node of nodesOf(plan).filter((one) => /(?:Seq|Index|Only) Scan/.test(one['Node Type']))) {
        assert.match(String(node['Index Name']), /^funding_payments_by_(?:market|time)$/, where)
        assert.ok(node['Actual Rows'] <= 24 * 100 + 1, where)
      }
    })
  }
})

/** A database that tells how it runs statements: by which indexes, and which tables it scans. */
type Database = {
  rows(statement: Statement): Promise<Row[]>
  plan(statement: Statement): Promise<{ text: string; scanned: string[] }>
  /** Checks the plan of a page. */
  checkPage(page: PlannedPage, scans: PageScans, where: string): Promise<void>
}

type Planned = Database & { facts: Facts }

async function openPlanned(t: TestContext, kind: StoreKind): Promise<Planned> {
  const store = await filled(kind)
  const database = await (kind.name === 'sqlite'
    ? openSqlite(t, store)
    : openPostgres(t, store, kind.name === 'citus'))
  return { ...database, facts: factsOf((await database.rows({ text: FACTS, values: [] }))[0] as string[]) }
}

async function checkPage(planned: Planned, page: PlannedPage, descending: boolean): Promise<void> {
  const scans = scansOf(queryOf(page, planned.facts, descending), planned.facts)
  await planned.checkPage(page, scans, nameOf(page, descending))
}

function openSqlite(t: TestContext, path: string): Database {
  const database = new DatabaseSync(path, { readOnly: true })
  t.after(() => database.close())
  const prepare = (text: string) => database.prepare(text.replaceAll(/\$(\d+)/g, '?$1'))
  const stepsOf = ({ text, values }: Statement) =>
    prepare(`explain query plan ${text}`)
      .all(...values)
      .map(({ detail }) => String(detail))
  return {
    rows: async ({ text, values }) => {
      const statement = prepare(text)
      // Two columns may have one name.
      statement.setReturnArrays(true)
      return statement.all(...values) as unknown as Row[]
    },
    plan: async (statement) => {
      const steps = stepsOf(statement)
      const names = steps.flatMap((step) => /^SCAN (\w+)(?! USING .*INDEX)/.exec(step)?.[1] ?? [])
      const tables = TABLES.map(({ name }) => name)
      return { text: steps.join('\n'), scanned: names.filter((name) => tables.includes(name)) }
    },
    checkPage: async ({ resource, filters, isRanged }, scans, name) => {
      for (const [what, statement] of sqliteStatements(scans)) {
        const plan = stepsOf(statement)
        const where = `${name}, ${what}:\n${plan.join('\n')}`
        const isWhole = resource.scope === null && !filters.some(isOfValues) && !isRanged
        for (const step of plan) {
          const isScan = /^SCAN (?!\(|merged|reading|page|json_each|CONSTANT)/.test(step)
          // What two filters leave, such as the epochs of a party in a market, may be sorted, and what another table gives.
          const isSort = step.includes('TEMP B-TREE') && filters.length < 2 && !filters[0]?.through
          assert.ok(!isSort && (isWhole || !isScan), where)
        }
        // What one filter leaves is found by its columns, or between the times that a table gives for its value.
        // Of two, it is the one that fewer rows match.
        const filter = filters.length === 1 ? filters[0] : filters.find(({ isRare }) => isRare)
        if (filter === undefined || !isOfValues(filter)) continue
        for (const column of filter.columns.filter((one) => one !== resource.storage.span?.column))
          assert.ok(
            plan.some((step) => step.includes(`${column}=?`)),
            where,
          )
      }
    },
  }
}

type PlanNode = {
  'Node Type': string
  'Index Name'?: string
  'Actual Rows': number
  'Rows Removed by Filter'?: number
  'Relation Name'?: string
  Plans?: PlanNode[]
}

const planOf = ({ rows }: { rows: { 'QUERY PLAN': [{ Plan: PlanNode }] }[] }): PlanNode =>
  rows[0]!['QUERY PLAN'][0].Plan

const nodesOf = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)]

async function openPostgres(t: TestContext, store: string, isDistributed: boolean): Promise<Database> {
  const client = await connect({
    ...readerConfig(parsePostgresAddress(store), isDistributed),
    pipeline: false,
  })
  t.after(() => client.end())
  // The server does this on its own within a minute.
  await client.query('set default_transaction_read_only = off')
  await client.query(`vacuum (analyze) ${TABLES.map(({ name }) => name).join(', ')}`)
  /** As readers run it: by a generic plan, on a cluster by one for these values, which finds their machine. */
  const explain = async ({ text, values }: Statement): Promise<PlanNode> => {
    const how = 'explain (analyze, format json)'
    if (isDistributed) return planOf(await client.query(`${how} ${text}`, [...values]))
    await client.query(`prepare planned as ${text}`)
    const literals = values.length === 0 ? '' : `(${values.map((value) => `'${value}'`).join(', ')})`
    const explained = await client.query(`${how} execute planned ${literals}`)
    await client.query('deallocate planned')
    return planOf(explained)
  }
  return {
    rows: async ({ text, values }) =>
      (await client.query({ text, values: [...values], rowMode: 'array' })).rows,
    plan: async (statement) => {
      const plan = await explain(statement)
      const scans = nodesOf(plan).filter((node) => node['Node Type'] === 'Seq Scan')
      return { text: JSON.stringify(plan, null, 1), scanned: scans.map((node) => node['Relation Name']!) }
    },
    checkPage: async ({ resource }, scans, where) => {
      const statementOf = isReadAsColumns(resource, isDistributed) ? columnsStatement : rowsStatement
      const plan = await explain(statementOf(scans, { limit: LIMIT + 1, withState: false }))
      checkNode(plan, `${where}:\n${JSON.stringify(plan, null, 1)}`)
    },
  }
}

/** Checks that every table is read by an index, and only the page's rows and one row more. */
function checkNode(node: PlanNode, where: string): void {
  assert.doesNotMatch(node['Node Type'], /Seq Scan|Bitmap/, where)
  if (/Index/.test(node['Node Type'])) {
    assert.ok(node['Actual Rows'] <= LIMIT + 1, where)
    assert.ok((node['Rows Removed by Filter'] ?? 0) <= LIMIT, where)
  }
  for (const child of node.Plans ?? []) checkNode(child, where)
}
