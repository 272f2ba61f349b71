import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import fc from 'fast-check'
import type { MarketEvent } from '../src/events/event.ts'
import { decodeCursor, encodeCursor } from '../src/resources/cursor.ts'
import type { Key } from '../src/resources/resource.ts'
import { RESOURCES } from '../src/resources/resources.ts'
import { dumpStore } from './fixtures/dump-store.ts'
import { joinRecords, readRecording, recordsOf } from './fixtures/event-stream.ts'
import { getPage, type PageAnswer, send } from './fixtures/http.ts'
import { openLiveStore } from './fixtures/live-store.ts'
import { compare, type ModelQuery, PageModel, requestOf } from './fixtures/page-model.ts'
import { queriesFor, RESOURCE_CASES, type ResourceCase } from './fixtures/resource-cases.ts'
import { runsOf, scaled } from './fixtures/sampling.ts'
import { inScope } from './fixtures/scope.ts'
import { keyOfNode, type ListCase, marketsOf, type Params, selectionsOf } from './fixtures/selections.ts'
import { ingest, ingestWhole, serve, storeOf } from './fixtures/service.ts'
import { recorded, recordingPath, skip } from './fixtures/shared.ts'
import { STORE_KINDS, type StoreKind, temporaryFolder } from './fixtures/stores.ts'

const RECORDINGS = ['synthetic', 'perps-calm', 'smoke', 'four-providers']
const SIZES = [1, 2, 3, 7, 1000]

/** Pages of one walk at most: the smallest pages walk the short selections only, unless the long run is on. */
const MAX_PAGES = scaled(25, 1_000_000)

type Walk = { list: ListCase; size: number; newestFirst: boolean; backward: boolean }

/** The pages of a walk in the order of asking, each checked by itself. */
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
  const expected = newestFirst ? list.keys.toReversed() : list.keys
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
  assert.deepEqual(
    edges.map(({ node }) => keyOfNode(list.path, node)),
    expected,
    where,
  )
}

/** Pages past the end, from the cursors of the first and the last row. */
async function checkPastEnds(base: string, list: ListCase): Promise<void> {
  if (list.keys.length === 0) return
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

/** Every cursor of every selection, in order. */
async function cursorsOf(base: string, lists: readonly ListCase[]): Promise<string[][]> {
  const all: string[][] = []
  for (const { path, params } of lists) {
    const { edges } = await getPage(base, path, [...params, ['pagination.first', '5000']])
    all.push(edges.map(({ cursor }) => cursor))
  }
  return all
}

type ServedModel = {
  base: string
  model: PageModel
  /** Commits events to the store and the model, as one block; of the next height where none is given. */
  commit(events: readonly MarketEvent[], height?: number): Promise<void>
}

/** A new store that is served, and the model of what it holds. */
async function serveModel(
  scope: TestContext,
  kind: StoreKind,
  resourceCase: ResourceCase,
  firstHeight = 1,
): Promise<ServedModel> {
  const store = kind.create(scope)
  const live = await openLiveStore(scope, store)
  const model = new PageModel(resourceCase)
  await live.commit(firstHeight, [])
  const base = await serve(scope, store)
  const commit = async (events: readonly MarketEvent[], height = live.height + 1) => {
    await live.commit(height, events)
    model.add(height, events)
  }
  return { base, model, commit }
}

/** Asks for a page and compares it with the model's; returns its edges. */
async function checkPage(
  base: string,
  model: PageModel,
  query: ModelQuery,
  cursor: Key | null,
): Promise<PageAnswer> {
  const text = cursor === null ? null : encodeCursor(query.resource, query.selection, cursor)
  const { path, params } = requestOf(query, text)
  const page = await getPage(base, path, params)
  const { hasNextPage, hasPreviousPage } = page.pageInfo
  assert.deepEqual(
    { nodes: page.edges.map(({ node }) => node), hasNextPage, hasPreviousPage },
    model.page({ ...query, cursor }),
    JSON.stringify(params),
  )
  return page
}

/** Walks to the end; each page is the model's of that moment, and all of them together are in order. */
async function walkWhileRowsArrive(
  base: string,
  model: PageModel,
  query: ModelQuery,
  arrive: (page: number) => Promise<void>,
): Promise<void> {
  const { resource, selection, newestFirst, backward } = query
  const ascending = newestFirst === backward
  let cursor: Key | null = null
  for (let number = 1; ; number++) {
    const { edges, pageInfo } = await checkPage(base, model, query, cursor)
    for (const edge of backward ? edges.toReversed() : edges) {
      const key = decodeCursor(resource, selection, edge.cursor) as Key
      assert.ok(cursor === null || (ascending ? compare(key, cursor) > 0 : compare(key, cursor) < 0))
      cursor = key
    }
    if (!(backward ? pageInfo.hasPreviousPage : pageInfo.hasNextPage)) return
    await arrive(number)
  }
}

test('random pages are tried of every resource', () => {
  assert.deepEqual(
    RESOURCE_CASES.map(({ resource }) => resource),
    RESOURCES,
  )
})

for (const kind of STORE_KINDS) {
  describe(`pages (${kind.name})`, () => {
    for (const name of RECORDINGS) {
      test(`walks of every size and direction over ${name} give every row once, in order`, async (t) => {
        const recording = recordingPath(`${name}.evts.gz`)
        if (recording === null) return skip(t, `${name} is not there`)
        const store = await storeOf(t, kind, recording)
        const base = await serve(t, store)
        const lists = selectionsOf(await dumpStore(store))
        assert.ok(lists.length > 0)
        for (const list of lists) {
          for (const newestFirst of [true, false]) {
            for (const size of SIZES.filter((size) => list.keys.length / size <= MAX_PAGES)) {
              for (const backward of [false, true]) {
                await checkWalk(base, { list, size, newestFirst, backward })
              }
            }
          }
          await checkPastEnds(base, list)
        }
      })
    }

    test('cursors are the same after a reingest that met the markets in another order', async (t) => {
      const recording = recorded('perps-calm')
      const [first, second] = [kind.create(t), kind.create(t)]
      await ingestWhole(first, recording)
      const lists = selectionsOf(await dumpStore(first))
      const [met] = marketsOf(await dumpStore(first))
      // What is left out here is filled in by the whole recording; the store then knows the market last.
      const records = recordsOf(readRecording(recording))
      const mentions = records.filter(({ bytes }) => bytes.includes(met!)).map(({ height }) => height)
      const gap = new Set(mentions.filter((height) => height > 1 && height < 600))
      const holey = join(temporaryFolder(t), 'holey.evts')
      writeFileSync(holey, joinRecords(records.filter(({ height }) => !gap.has(height))))
      const { failure } = await ingest(second, holey, { allowGap: true })
      assert.equal(failure, null)
      await ingestWhole(second, recording)
      const [one, other] = [await serve(t, first), await serve(t, second)]
      assert.deepEqual(await cursorsOf(other, lists), await cursorsOf(one, lists))
    })

    for (const resourceCase of RESOURCE_CASES) {
      const { events: arrival } = resourceCase
      const resource = resourceCase.resource.name
      const eventsUpTo = (maxLength: number) => fc.array(arrival, { maxLength })
      const queries = queriesFor(resourceCase)

      test(`random pages of ${resource} are those of a plain list`, async () => {
        const property = fc.asyncProperty(
          eventsUpTo(40),
          fc.array(queries, { minLength: 20, maxLength: 20 }),
          (events, asked) =>
            inScope(async (scope) => {
              const { base, model, commit } = await serveModel(scope, kind, resourceCase)
              await commit(events)
              for (const query of asked) await checkPage(base, model, query, query.cursor)
            }),
        )
        await fc.assert(property, { seed: 1, numRuns: runsOf('service') })
      })

      test(`pages of ${resource} are the same in whatever order blocks come`, async () => {
        const heights = Array.from({ length: 8 }, (_, index) => index + 1)
        const property = fc.asyncProperty(
          fc.array(eventsUpTo(6), { minLength: heights.length, maxLength: heights.length }),
          fc.shuffledSubarray(heights, { minLength: heights.length }),
          fc.array(queries, { minLength: 10, maxLength: 10 }),
          (blocks, order, asked) =>
            inScope(async (scope) => {
              const { base, model, commit } = await serveModel(scope, kind, resourceCase, 9)
              for (const height of order) {
                await commit(blocks[height - 1]!, height)
                for (const query of asked.slice(0, 2)) await checkPage(base, model, query, query.cursor)
              }
              for (const query of asked) await checkPage(base, model, query, query.cursor)
            }),
        )
        await fc.assert(property, { seed: 4, numRuns: runsOf('service') })
      })

      test(`pages of ${resource} asked for again and again are never out of date`, async () => {
        const property = fc.asyncProperty(
          fc.array(eventsUpTo(4), { minLength: 10, maxLength: 10 }),
          fc.array(queries, { minLength: 6, maxLength: 6 }),
          (arrivals, asked) =>
            inScope(async (scope) => {
              const { base, model, commit } = await serveModel(scope, kind, resourceCase)
              for (const events of arrivals) {
                await commit(events)
                // The first is read, the second kept from then on, until rows that it depends on change.
                for (const query of [...asked, ...asked]) {
                  await checkPage(base, model, query, query.cursor)
                }
              }
              const metrics = (await send(base, '/metrics')).text
              const kept = /^lyra_pages_from_memory_total (\d+)/m.exec(metrics)
              assert.ok(Number(kept?.[1]) >= arrivals.length * asked.length, metrics)
            }),
        )
        await fc.assert(property, { seed: 3, numRuns: runsOf('service') })
      })

      test(`walks over ${resource} stay whole while rows arrive`, async () => {
        const property = fc.asyncProperty(
          fc.array(eventsUpTo(12), { minLength: 12, maxLength: 12 }),
          queries,
          (arrivals, query) =>
            inScope(async (scope) => {
              const { base, model, commit } = await serveModel(scope, kind, resourceCase)
              await commit(arrivals[0]!)
              await walkWhileRowsArrive(base, model, { ...query, cursor: null }, async (page) => {
                await commit(arrivals[page % arrivals.length]!)
              })
            }),
        )
        await fc.assert(property, { seed: 2, numRuns: runsOf('service') })
      })
    }
  })
}
