import assert from 'node:assert/strict'
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { describe, type TestContext, test } from 'node:test'
import { checkpoints } from '#core/resources/checkpoints/description'
import { fundingPeriodDataPoints } from '#core/resources/funding-period-data-points/description'
import { liquidityProviderHistory } from '#core/resources/liquidity-provider-history/description'
import { liquidityProviders } from '#core/resources/liquidity-providers/description'
import type { Key, Resource, Selection } from '#core/resources/resource'
import { HEAD_ROOM } from '#core/store/pages/edges'
import type { PageQuery } from '#core/store/pages/page'
import type { PageScans } from '#core/store/pages/scan'
import { pageScans } from '#core/store/pages/scan'
import { pageStatement } from '#core/store/pages/scan-sql'
import type { Statement } from '#core/store/pages/statement'
import { parsePostgresAddress } from '#core/store/postgres/address'
import { connect, readerConfig, writerConfig } from '#core/store/postgres/connection'
import { columnsStatement, isReadAsColumns, rowsStatement } from '#core/store/postgres/page-statements'
import { READ_LAST_TIMESTAMP } from '#core/store/readings/counted-points'
import { edgesStatement, existsStatement } from '#core/store/sqlite/page-statements'
import { TABLES } from '#core/store/tables'
import { generateRecords } from '#tools/generate/generate'
import { scaled } from './fixtures/sampling.ts'
import { ingestWhole } from './fixtures/service.ts'
import { openStore, STORE_KINDS, temporaryFolder } from './fixtures/stores.ts'

const LIMIT = 100

/** A page whose plan is checked. `marketId` and `partyId` are filled in from the data. */
type PlannedPage = {
  name: string
  resource: Resource
  selection: Selection
  /** The place of the cursor in the data, from 0 to 1; absent for a first page. */
  depth?: number
}

const points = fundingPeriodDataPoints
const providers = liquidityProviders
const history = liquidityProviderHistory

const PAGES: PlannedPage[] = [
  { name: 'the first page of points', resource: points, selection: {} },
  { name: 'a deep page of points', resource: points, selection: {}, depth: 0.5 },
  { name: 'points of a date range', resource: points, selection: { from: 0n, to: 2n ** 62n } },
  { name: 'the sparse source', resource: points, selection: { source: 1n } },
  { name: 'a deep page of the sparse source', resource: points, selection: { source: 1n }, depth: 0.5 },
  { name: 'checkpoints', resource: checkpoints, selection: {} },
  { name: 'deep checkpoints', resource: checkpoints, selection: {}, depth: 0.5 },
  { name: 'providers of a market', resource: providers, selection: { marketId: '' } },
  { name: 'deep providers of a market', resource: providers, selection: { marketId: '' }, depth: 0.5 },
  { name: 'providers of a party', resource: providers, selection: { partyId: '' } },
  { name: 'history of a market', resource: history, selection: { marketId: '' } },
  { name: 'deep history of a market', resource: history, selection: { marketId: '' }, depth: 0.5 },
  { name: 'deep history of a party', resource: history, selection: { partyId: '' }, depth: 0.5 },
  { name: 'deep history of all', resource: history, selection: {}, depth: 0.5 },
]

/** More providers for each market than fit on a page. */
const LISTS = { markets: 10, points: 10, parties: 1_000, events: 0 }

/** Facts about the data for requests: a market, a party, and the times of its points. */
type Facts = {
  marketId: string
  /** The market with the most providers. */
  providersMarketId: string
  partyId: string
  first: bigint
  last: bigint
  height: bigint
}

function queryOf(page: PlannedPage, facts: Facts, descending: boolean): PageQuery {
  const { resource, depth } = page
  const selection = { ...page.selection }
  if (resource === points) selection.marketId = facts.marketId
  if (selection.marketId === '') selection.marketId = facts.providersMarketId
  if (selection.partyId === '') selection.partyId = facts.partyId
  const at = cursorAt(resource, facts, depth ?? 0)
  return { resource, selection, descending, cursor: depth === undefined ? null : at, limit: LIMIT }
}

/** A key at a fraction of a list; a row with it need not exist. */
function cursorAt(resource: Resource, facts: Facts, depth: number): Key {
  const { first, last, height, providersMarketId, partyId } = facts
  const share = (value: bigint) => (value * BigInt(Math.round(depth * 1000))) / 1000n
  if (resource === points) return [first + share(last - first), 0n, 0n]
  if (resource === history) return [first + share(last - first), providersMarketId, partyId, 0n]
  if (resource === checkpoints) return [share(height), '']
  return [
    providersMarketId,
    share(2n ** 32n)
      .toString(16)
      .padStart(8, '0')
      .padEnd(64, '0'),
  ]
}

async function fill(t: TestContext, store: string): Promise<void> {
  const path = join(temporaryFolder(t), 'stream.evts')
  await pipeline(
    Readable.from(generateRecords({ blocks: scaled(3_000, 100_000), ...LISTS })),
    createWriteStream(path),
  )
  await ingestWhole(store, path)
}

const FACTS = `
  select market_id,
    (select market_id from liquidity_providers group by market_id order by count(*) desc limit 1),
    (select min(party_id) from liquidity_providers),
    cast((select min(first_timestamp) from funding_period_spans) as text),
    cast((select max(last_timestamp) from funding_period_spans) as text),
    cast((select height from stream) as text)
  from markets where market = 1`

function factsOf([marketId, providersMarketId, partyId, first, last, height]: string[]): Facts {
  return {
    marketId: marketId!,
    providersMarketId: providersMarketId!,
    partyId: partyId!,
    first: BigInt(first!),
    last: BigInt(last!),
    height: BigInt(height!),
  }
}

/** The number of the requested market; null if rows name their market by id. */
const marketOf = ({ resource: { storage } }: PageQuery) => (storage.scopeBy === 'number' ? 1n : null)

const scansOf = (query: PageQuery): PageScans => pageScans(query, null, marketOf(query))

function sqliteStatements(query: PageQuery): [string, Statement][] {
  const { page, atOrBefore } = scansOf(query)
  return [
    ['rows', pageStatement(page, LIMIT + 1, 'lazy')],
    ['edges', edgesStatement(page, LIMIT + 1, false, HEAD_ROOM)],
    ...(atOrBefore === null
      ? []
      : [['at or before the cursor', existsStatement(atOrBefore)] as [string, Statement]]),
  ]
}

describe('the plans of pages', () => {
  for (const kind of STORE_KINDS) {
    test(`every page is an index scan (${kind.name})`, async (t) => {
      const store = kind.create(t)
      await fill(t, store)
      if (kind.name === 'sqlite') checkSqlitePlans(store)
      else await checkPostgresPlans(store, kind.name === 'citus')
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
      await fill(t, store)
      const explained = await client.query('explain (analyze, format json) execute last_time (1, 2)')
      const [{ Plan: plan }] = explained.rows[0]['QUERY PLAN'] as [{ Plan: PlanNode }]
      checkNode(plan, JSON.stringify(plan, null, 1))
    })
  }
})

function checkSqlitePlans(path: string): void {
  const database = new DatabaseSync(path, { readOnly: true })
  const facts = factsOf(Object.values(database.prepare(FACTS).get()!) as string[])
  for (const page of PAGES) {
    for (const descending of [true, false]) {
      for (const [what, { text, values }] of sqliteStatements(queryOf(page, facts, descending))) {
        const plan = database
          .prepare(`explain query plan ${text.replaceAll(/\$(\d+)/g, '?$1')}`)
          .all(...values)
          .map((step) => step.detail as string)
        const where = `${page.name}, ${what}, ${descending ? 'newest' : 'oldest'} first:\n${plan.join('\n')}`
        assert.ok(
          plan.some((step) => /^(SEARCH|SCAN checkpoints)/.test(step)),
          where,
        )
        for (const step of plan) {
          assert.doesNotMatch(
            step,
            /TEMP B-TREE|^SCAN (?!\(|merged|reading|page|checkpoints|CONSTANT)/,
            where,
          )
        }
      }
    }
  }
  database.close()
}

type PlanNode = {
  'Node Type': string
  'Actual Rows': number
  'Rows Removed by Filter'?: number
  'Relation Name'?: string
  Plans?: PlanNode[]
}

async function checkPostgresPlans(store: string, isSpread: boolean): Promise<void> {
  const client = await connect({
    ...readerConfig(parsePostgresAddress(store), isSpread),
    pipeline: false,
  })
  try {
    // The server does this on its own within a minute.
    await client.query('set default_transaction_read_only = off')
    await client.query(`vacuum (analyze) ${TABLES.map(({ name }) => name).join(', ')}`)
    const { rows } = await client.query({ text: FACTS, rowMode: 'array' })
    const facts = factsOf(rows[0] as string[])
    for (const page of PAGES) {
      for (const descending of [true, false]) {
        const scans = scansOf(queryOf(page, facts, descending))
        const statementOf = isReadAsColumns(scans.page.resource, isSpread) ? columnsStatement : rowsStatement
        const { text, values } = statementOf(scans, { limit: LIMIT + 1, withState: false })
        const explain = 'explain (analyze, format json)'
        // As readers run it: by a generic plan, on a cluster by one for these values, which finds their machine.
        if (!isSpread) await client.query(`prepare page as ${text}`)
        const literals = values.map((value) => `'${value}'`).join(', ')
        const explained = isSpread
          ? await client.query(`${explain} ${text}`, values)
          : await client.query(`${explain} execute page (${literals})`)
        if (!isSpread) await client.query('deallocate page')
        const [{ Plan: plan }] = explained.rows[0]['QUERY PLAN'] as [{ Plan: PlanNode }]
        const where = `${page.name}, ${descending ? 'newest' : 'oldest'} first:\n${JSON.stringify(plan, null, 1)}`
        checkNode(plan, where)
      }
    }
  } finally {
    await client.end()
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
