import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { columnOf } from '#core/model/field'
import type { Selection } from '#core/model/resource'
import { decodeMarketCursor, encodeMarketCursor } from '#core/resources/market-cursor'
import { RESOURCES } from '#core/resources/resources'
import { createLyraClient } from '../../client/src/index.ts'
import { assertSays } from '../fixtures/assert-says.ts'
import { idOf } from '../fixtures/events/event-stream.ts'
import { PageModel, targetOf } from '../fixtures/models/page-model.ts'
import { ndjsonRows, query, send, statusOf } from '../fixtures/requests/http.ts'
import { assertMalformed } from '../fixtures/requests/refusals.ts'
import {
  finalNode,
  type ModelRow,
  RESOURCE_CASES,
  type ResourceCase,
  selectionsOf,
} from '../fixtures/resources/resource-cases.ts'
import { sampled } from '../fixtures/sampling.ts'
import { runWell } from '../fixtures/services/program.ts'
import { serve } from '../fixtures/services/service.ts'
import { createLiveStore, pointAt, serveLive, timeOf } from '../fixtures/stores/live-store.ts'
import { describeOn, runSql, STORE_KINDS, type StoreKind } from '../fixtures/stores/stores.ts'

/** The columns that name the market of a row; `scope` is that of its list. */
const MARKET_COLUMNS = ['market_id', 'scope']

const pathOf = ({ kebabName }: { kebabName: string }) => `/api/v2/export/${kebabName}`

type Line = Record<string, unknown> & { cursor: string }

const linesOf = (text: string): Line[] => ndjsonRows(text).map(({ node, cursor }) => ({ ...node, cursor }))

async function exported(base: string, path: string, params: [string, string][] = []): Promise<Line[]> {
  const answer = await send(base, `${path}${query([['format', 'ndjson'], ...params])}`)
  assert.equal(answer.status, 200, answer.text)
  return linesOf(answer.text)
}

/** All rows in the order of an export: by market id if rows have one, then by key. */
function ordered({ resource }: ResourceCase, rows: readonly ModelRow[]): object[] {
  if (resource.scope === null) return rows.map(({ node }) => node)
  const ids = [...new Set(rows.map((row) => row.of.market_id!))].sort()
  return ids.flatMap((id) =>
    rows.filter((row) => row.of.market_id === id).map(({ node }) => finalNode(resource, node)),
  )
}

const nodesOf = (lines: readonly Line[]) => lines.map(({ cursor: _, ...node }) => node)

/** Serves a store of random events of a resource, with its model. */
async function serveCase(t: TestContext, kind: StoreKind, resourceCase: ResourceCase) {
  const model = new PageModel(resourceCase)
  const events = fc.sample(resourceCase.events, { seed: 1, numRuns: 150 })
  model.add(1, events)
  return { ...(await serveLive(t, kind, events, { inThreads: true })), model }
}

/** Selections without a market, for an export of all markets. */
function selectionsWithoutMarket(resourceCase: ResourceCase): Selection[] {
  return fc
    .sample(selectionsOf(resourceCase), { seed: 2, numRuns: 8 })
    .map(({ marketId: _, ...rest }) => rest)
    .concat([{}])
}

describeOn(STORE_KINDS, 'exports of all markets', (kind) => {
  for (const resourceCase of RESOURCE_CASES) {
    const { resource } = resourceCase
    const path = pathOf(resource)

    test(`contain all ${resource.name}, by market id, then by key, and resume after every row`, async (t) => {
      const { store, base, model } = await serveCase(t, kind, resourceCase)
      for (const selection of selectionsWithoutMarket(resourceCase)) {
        const { params } = targetOf({ ...resource, scope: null }, selection)
        const expected = ordered(resourceCase, model.rows(selection, 'export'))
        const lines = await exported(base, path, params)
        assert.deepEqual(nodesOf(lines), expected)
        const reversed = await exported(base, path, [...params, ['pagination.newestFirst', 'true']])
        assert.deepEqual(nodesOf(reversed), expected.toReversed())
      }
      const lines = await exported(base, path)
      assert.ok(lines.length >= 2)
      for (const index of sampled('comparison', [...lines.keys()], kind)) {
        const { cursor } = lines[index]!
        assert.match(cursor, /^[A-Za-z0-9_-]+$/)
        const rest = await exported(base, path, [['pagination.after', cursor]])
        assert.deepEqual(rest, lines.slice(index + 1))
        const before = await exported(base, path, [
          ['pagination.after', cursor],
          ['pagination.newestFirst', 'true'],
        ])
        assert.deepEqual(before, lines.slice(0, index).toReversed())
      }
      const csv = await send(base, `${path}?format=csv`)
      const cursors = csv.text.split('\r\n').flatMap((line) => /,([^,"]*)$/.exec(line)?.[1] ?? [])
      assert.deepEqual(new Set(cursors), new Set(['cursor', ...lines.map(({ cursor }) => cursor)]))
      const command = `export ${resource.kebabName} --store ${store} --oldest-first`
      const { stdout } = await runWell(t, command)
      assert.deepEqual(linesOf(stdout), lines)
      const middle = lines[Math.floor(lines.length / 2)]!
      const resumed = await runWell(t, `${command} --after ${middle.cursor}`)
      assert.deepEqual(linesOf(resumed.stdout), lines.slice(lines.indexOf(middle) + 1))
    })

    if (resource.scope === null && !resource.filters.some(({ name }) => name === 'marketId')) continue

    test(`of ${resource.name} of one market are the part of that market`, async (t) => {
      const { base, model } = await serveCase(t, kind, resourceCase)
      const marketField = resource.fields.find((field) => MARKET_COLUMNS.includes(columnOf(field)))!.name
      const lines = await exported(base, path)
      for (const marketId of new Set(model.rows({}).map((row) => row.of.market_id as string))) {
        const own = await exported(base, path, [['marketId', marketId.toUpperCase()]])
        assert.deepEqual(
          own,
          lines.filter((line) => line[marketField] === marketId),
        )
        for (const { cursor, [marketField]: of } of sampled('comparison', lines, kind)) {
          const target = `${path}?format=csv&marketId=${marketId}&pagination.after=${cursor}`
          assert.equal(await statusOf(base, target), of === marketId ? 200 : 400)
        }
      }
    })
  }

  test('resume in the middle of a deleted market, and include a new one', async (t) => {
    const { store, live } = await createLiveStore(t, kind)
    // Markets are numbered in order of arrival, not in the order of their ids.
    const ids = ['c', 'a', 'e', 'b', 'f'].map(idOf)
    for (const [index, marketId] of ids.entries()) {
      await live.commit(
        index + 1,
        [1, 2, 3].map((late) => pointAt(10, { marketId, late })),
      )
    }
    const base = await serve(t, store)
    const path = '/api/v2/export/funding-period-data-points'
    const lines = await exported(base, path)
    assert.deepEqual(
      lines.map(({ marketId }) => marketId),
      ids.toSorted().flatMap((id) => [id, id, id]),
    )
    const middle = lines[7]!
    assert.equal(middle.marketId, idOf('c'))
    await runSql(
      store,
      `delete from funding_period_data_points
          where market = (select market from markets where market_id = '${idOf('c')}');
        delete from markets where market_id = '${idOf('c')}'`,
    )
    await live.commit(6, [pointAt(10, { marketId: idOf('d') })])
    const rest = await exported(base, path, [['pagination.after', middle.cursor]])
    assert.deepEqual(
      rest.map(({ marketId }) => marketId),
      [idOf('d'), ...[idOf('e'), idOf('f')].flatMap((id) => [id, id, id])],
    )
  })
})

describe('an export of all markets', () => {
  const kind = STORE_KINDS[0]!

  test('is refused after a cursor of another list, and for resources without rows of their own', async (t) => {
    const { base } = await serveLive(t, kind, [pointAt(1), pointAt(1, { marketId: idOf('b') })])
    const path = '/api/v2/export/funding-period-data-points'
    const own = (await send(base, `/api/v2/funding-periods/data-points/${idOf('b')}?format=ndjson`)).text
    const { cursor: ofPage } = JSON.parse(own) as Line
    const [{ cursor }] = (await exported(base, path)) as [Line]
    const spoilt = cursor.replace(/.$/, (last) => (last === '0' ? '1' : '0'))
    for (const [resource, after, message] of [
      ['funding-period-data-points', ofPage, 'is a cursor of another resource'],
      ['funding-period-data-points', spoilt, 'is not a valid cursor'],
      ['funding-periods', cursor, 'another resource'],
    ] as const) {
      const target = `/api/v2/export/${resource}?format=csv&pagination.after=${after}`
      assertSays((await assertMalformed(base, target, 10028)).text, message)
    }
    const plain = await send(base, path)
    assert.equal(plain.headers['content-type'], 'application/x-ndjson')
    assert.equal(plain.text, (await send(base, `${path}?format=ndjson`)).text)
    assert.equal(await statusOf(base, '/api/v2/export/nothing?format=csv'), 404)
    assert.equal(await statusOf(base, '/api/v2/export/market-summaries?format=csv'), 404)
    assert.equal(await statusOf(base, `${path}?format=csv`, { method: 'POST' }), 405)
    const head = await send(base, `${path}?format=csv`, { method: 'HEAD' })
    assert.deepEqual([head.status, head.text], [200, ''])
    assert.equal(head.headers['content-disposition'], 'attachment; filename="fundingPeriodDataPoints.csv"')
    const empty = await serve(t, kind.create(t))
    assert.equal(await statusOf(empty, `${path}?format=csv`), 503)
  })

  test('has a URL from the client, for any filters', async (t) => {
    const other = pointAt(1, { marketId: idOf('b'), source: 1 })
    const { base } = await serveLive(t, kind, [pointAt(1), pointAt(2), other])
    const lyra = createLyraClient({ url: base })
    const lines = async (url: string) => linesOf(await (await fetch(url)).text())
    const all = await lines(lyra.exportUrl('fundingPeriodDataPoints'))
    assert.equal(all.length, 3)
    const rest = lyra.exportUrl('fundingPeriodDataPoints', {}, { after: all[0]!.cursor })
    assert.deepEqual(await lines(rest), all.slice(1))
    const source = 'SOURCE_EXTERNAL'
    const external = lyra.exportUrl('fundingPeriodDataPoints', { source }, { format: 'csv' })
    assert.equal((await (await fetch(external)).text()).split('\r\n').length, 3)
    const range = { from: timeOf(2), to: timeOf(3) }
    assert.equal((await lines(lyra.exportUrl('fundingPeriodDataPoints', range))).length, 1)
    assert.deepEqual(await lines(lyra.exportUrl('checkpoints', {}, { newestFirst: true })), [])
  })

  test('counts towards the limit of concurrent exports', async (t) => {
    const { base } = await serveLive(t, kind, [pointAt(1)], { limits: { exports: 0, serverExports: 0 } })
    for (const format of ['csv', 'parquet'])
      assert.equal(await statusOf(base, `/api/v2/export/checkpoints?format=${format}`), 503)
  })

  test('has cursors with market and key, for every resource bound to a market', () => {
    const bound = RESOURCES.filter(({ scope }) => scope !== null)
    assert.ok(bound.length >= 2)
    for (const resource of bound) {
      const { keys } = RESOURCE_CASES.find((one) => one.resource === resource)!
      for (const key of fc.sample(keys, { seed: 3, numRuns: 50 })) {
        for (const marketId of [idOf('0'), idOf('f'), '0123456789abcdef'.repeat(4)]) {
          const text = encodeMarketCursor(resource, marketId, key)
          assert.deepEqual(decodeMarketCursor(resource, text), { marketId, key })
          // The last of an id's 43 characters has unused bits.
          const other = String.fromCharCode(text.charCodeAt(43) + 1)
          const spoilt = `${text.slice(0, 43)}${other}${text.slice(44)}`
          assert.equal(decodeMarketCursor(resource, spoilt), 'garbled')
        }
      }
    }
  })
})
