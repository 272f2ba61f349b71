import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FILTERS, idSet } from '#core/model/filters'
import type { Filter, KeyValue, Selection } from '#core/model/resource'
import { RESOURCES } from '#core/resources/resources'
import { joinRecords, readRecording, recordsOf } from '../../fixtures/events/event-stream.ts'
import { modelOf, targetOf } from '../../fixtures/models/page-model.ts'
import { getPage, type PageAnswer } from '../../fixtures/requests/http.ts'
import { assertSameRows, testPages } from '../../fixtures/resources/page-suites.ts'
import { type ModelRow, RESOURCE_CASES, type ResourceCase } from '../../fixtures/resources/resource-cases.ts'
import { inTurns, scaled } from '../../fixtures/sampling.ts'
import { ingest, serve, serveFile, storeOf, tryIngest } from '../../fixtures/services/service.ts'
import { recorded, recordingPath, skip } from '../../fixtures/shared.ts'
import { describeOn, fileWith, STORE_KINDS } from '../../fixtures/stores/stores.ts'

const RECORDINGS = ['synthetic', 'perps-calm', 'smoke', 'four-providers']
/** Sizes of pages; each list is tested with some, in the long run with all. */
const SIZES = [
  [1, 7],
  [2, 1000],
  [3, 1000],
]

/** The most pages read of one list: the smallest pages are tested only on short selections, or in the long run. */
const MAX_PAGES = scaled(10, 1_000_000)

type Params = [name: string, value: string][]

/** The selection of a request, and its rows in ascending order. */
type ListCase = { what: string; path: string; params: Params; nodes: ModelRow['node'][] }

/** The distinct values of a filter's columns, in the order of the rows. Source 0 selects all sources. */
function valuesOf(
  { columns, type }: Pick<Filter, 'columns' | 'type'>,
  rows: readonly ModelRow[],
): KeyValue[] {
  const values = new Set(rows.flatMap(({ of }) => columns.flatMap((column) => of[column] ?? [])))
  if (type === 'partyIds') return [...values].map((id) => idSet([String(id)]))
  return [...values].filter((value) => type !== 'source' || value !== 0n) as KeyValue[]
}

/** Values of a filter: every id and source; of numbers some that rows have, and one beyond them. */
function filterValues(filter: Filter, rows: readonly ModelRow[]): KeyValue[] {
  const values = valuesOf(filter, rows)
  if (filter.type !== 'uint64' || values.length === 0) return values
  return [values[0]!, values[values.length >> 1]!, values.at(-1)!, (values.at(-1) as bigint) + 1n]
}

/** Selections of every kind for a resource: with few rows, with many and with none. */
function* selectionsOf({ resource }: ResourceCase, rows: readonly ModelRow[]): Generator<Selection> {
  const { scope, required, dateRange } = resource
  const filters = resource.filters.filter(({ name }) => name !== 'marketId')
  const isComplete = (selection: Selection) =>
    required.list?.some((name) => selection[name] !== undefined) ?? true
  const byFilter = (own: readonly ModelRow[], market: Selection) =>
    filters.flatMap((filter) =>
      filterValues(filter, own).map((value): Selection => ({ ...market, [filter.name]: value })),
    )
  if (scope === null) yield* [{}, ...byFilter(rows, {})].filter(isComplete)
  for (const marketId of valuesOf(FILTERS.marketId, rows) as string[]) {
    const own = rows.filter(({ of }) => of.market_id === marketId)
    yield* [{ marketId }, ...byFilter(own, { marketId })].filter(isComplete)
    if (!dateRange) continue
    const times = own.map(({ key: [time] }) => time as bigint)
    const [from, last] = [times[Math.floor(times.length / 3)]!, times.at(-1)!]
    const ranges = [{ from }, { to: last }, { from, to: from + 1n }, { from, to: from }]
    yield* ranges.map((range): Selection => ({ marketId, ...range })).filter(isComplete)
    if (filters.length === 0 || filters.some((filter) => valuesOf(filter, own).length === 0)) continue
    const all = filters.map((filter) => [filter.name, valuesOf(filter, own).at(-1)])
    yield { marketId, from, to: last + 1n, ...Object.fromEntries(all) }
  }
}

/** Selections of every resource in a recording, with their rows. */
function listsOf(recording: string): ListCase[] {
  return RESOURCE_CASES.flatMap((resourceCase) => {
    const model = modelOf(resourceCase, recording)
    return [...selectionsOf(resourceCase, model.rows({}))].map((selection) => {
      const { path, params } = targetOf(resourceCase.resource, selection)
      const nodes = model.rows(selection).map(({ node }) => node)
      return { what: `${path} ${JSON.stringify(params)}`, path, params, nodes }
    })
  })
}

type Walk = { list: ListCase; size: number; newestFirst: boolean; backward: boolean }

/** The pages of a list in the order of the requests, each checked. */
async function* pagesOf(base: string, { list, size, newestFirst, backward }: Walk) {
  let cursor: string | null = null
  for (;;) {
    const params: Params = [
      ...list.params,
      ['pagination.newestFirst', String(newestFirst)],
      [backward ? 'pagination.last' : 'pagination.first', String(size)],
    ]
    if (cursor !== null) params.push([backward ? 'pagination.before' : 'pagination.after', cursor])
    const page = await getPage(base, list.path, params)
    const { edges, pageInfo } = page
    assert.equal(pageInfo.startCursor, edges[0]?.cursor ?? '')
    assert.equal(pageInfo.endCursor, edges.at(-1)?.cursor ?? '')
    yield page
    if (!(backward ? pageInfo.hasPreviousPage : pageInfo.hasNextPage)) return
    cursor = backward ? pageInfo.startCursor : pageInfo.endCursor
  }
}

async function checkWalk(base: string, walk: Walk): Promise<void> {
  const { list, size, newestFirst, backward } = walk
  const where = `${list.what}, pages of ${size}, newest first ${newestFirst}, ${backward ? 'backward' : 'forward'}`
  const expected = newestFirst ? list.nodes.toReversed() : list.nodes
  const pageCount = Math.max(1, Math.ceil(expected.length / size))
  const pages: PageAnswer['edges'][] = []
  for await (const { edges, pageInfo } of pagesOf(base, walk)) {
    const [behind, ahead] = backward
      ? [pageInfo.hasNextPage, pageInfo.hasPreviousPage]
      : [pageInfo.hasPreviousPage, pageInfo.hasNextPage]
    pages.push(edges)
    assert.equal(behind, pages.length > 1, `${where}: the flag after page ${pages.length}`)
    assert.equal(ahead, pages.length < pageCount, `${where}: the flag ahead of page ${pages.length}`)
    if (ahead) assert.equal(edges.length, size, `${where}: the length of page ${pages.length}`)
  }
  const edges = (backward ? pages.toReversed() : pages).flat()
  assertSameRows(
    edges.map(({ node }) => node),
    expected,
    where,
  )
}

/** Checks pages past both ends, from the cursors of the first and the last row. */
async function checkPastEnds(base: string, list: ListCase): Promise<void> {
  if (list.nodes.length === 0) return
  for (const newestFirst of ['true', 'false']) {
    const params: Params = [...list.params, ['pagination.newestFirst', newestFirst]]
    const { pageInfo } = await getPage(base, list.path, params)
    const past = await getPage(base, list.path, [...params, ['pagination.after', pageInfo.endCursor]])
    assert.deepEqual(past, emptyPage({ hasPreviousPage: true, hasNextPage: false }), list.what)
    const before = await getPage(base, list.path, [...params, ['pagination.before', pageInfo.startCursor]])
    assert.deepEqual(before, emptyPage({ hasPreviousPage: false, hasNextPage: true }), list.what)
  }
}

function emptyPage(flags: { hasPreviousPage: boolean; hasNextPage: boolean }): PageAnswer {
  return { edges: [], pageInfo: { ...flags, startCursor: '', endCursor: '' } }
}

/** Collects every cursor of every selection, in order. */
async function cursorsOf(base: string, lists: readonly ListCase[]): Promise<string[][]> {
  const all: string[][] = []
  for (const { path, params } of lists) {
    const { edges } = await getPage(base, path, [...params, ['pagination.first', '5000']])
    all.push(edges.map(({ cursor }) => cursor))
  }
  return all
}

test('random pages are tested of every resource', () => {
  assert.deepEqual(
    RESOURCE_CASES.map(({ resource }) => resource),
    RESOURCES,
  )
})

describeOn(STORE_KINDS, 'pages', (kind) => {
  for (const name of RECORDINGS) {
    test(`pages of every size and direction on ${name} contain every row once, in order`, async (t) => {
      const recording = recordingPath(`${name}.evts.gz`)
      if (recording === null) return skip(t, `${name} is missing`)
      const base = await serveFile(kind, recording)
      const lists = listsOf(recording)
      assert.ok(lists.length > 0)
      for (const [turn, list] of lists.entries()) {
        const sizes = [...new Set(inTurns(turn, SIZES).flat())]
        for (const newestFirst of [true, false]) {
          for (const size of sizes.filter((size) => list.nodes.length / size <= MAX_PAGES)) {
            for (const backward of [false, true]) {
              await checkWalk(base, { list, size, newestFirst, backward })
            }
          }
        }
        await checkPastEnds(base, list)
      }
    })
  }

  test('cursors are the same after a new ingestion with the markets in another order', async (t) => {
    const recording = recorded('perps-calm')
    const [first, second] = [await storeOf(t, kind, recording), kind.create(t)]
    const lists = listsOf(recording)
    const met = lists.flatMap(({ nodes }) => nodes.map(({ marketId }) => String(marketId ?? '~'))).sort()[0]!
    // Blocks missing here are filled by the whole recording; the store numbers this market last.
    const records = recordsOf(readRecording(recording))
    const mentions = records.filter(({ bytes }) => bytes.includes(met)).map(({ height }) => height)
    const gap = new Set(mentions.filter((height) => height > 1 && height < 600))
    const holey = fileWith(t, joinRecords(records.filter(({ height }) => !gap.has(height))), 'holey.evts')
    const { failure } = await tryIngest(second, holey, { allowGap: true })
    assert.equal(failure, null)
    await ingest(second, recording)
    const [one, other] = [await serve(t, first), await serve(t, second)]
    const [found, expected] = [await cursorsOf(other, lists), await cursorsOf(one, lists)]
    for (const [index, { what }] of lists.entries()) assertSameRows(found[index]!, expected[index]!, what)
  })

  for (const resourceCase of RESOURCE_CASES) testPages(kind, resourceCase)
})
