import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { wordsOfName } from '#core/domain/words'
import { FILTERS, type FilterName } from '#core/model/filters'
import { onOneLine } from '#core/model/node-json'
import { type Selection, scopeOf } from '#core/model/resource'
import { copyStore } from '#core/store/admin/copy-store'
import type { PruneBound } from '#core/store/pruning/prune-bound'
import { pruneStore } from '#core/store/pruning/prune-store'
import { tableOf } from '#core/store/schema/tables'
import { exportTableOf } from '#service/formats/columns'
import { streamPath } from '#service/http/paths'
import { openApiDocument } from '#service/openapi/openapi'
import { NODE_SCHEMAS } from '#service/questions/node-schemas'
import { parametersOf } from '#service/questions/parameters'
import { streamParametersOf } from '#service/streams/stream-route-request'
import { checkStore } from '#tools/check/check-store'
import { PageModel, targetOf, textsOf } from '../fixtures/models/page-model.ts'
import { closed } from '../fixtures/requests/closed.ts'
import { getJson, getPage, query, send } from '../fixtures/requests/http.ts'
import { listen, rowsOf } from '../fixtures/requests/listen.ts'
import { RESOURCE_CASES, type ResourceCase, selectionsOf } from '../fixtures/resources/resource-cases.ts'
import { runLyra } from '../fixtures/services/program.ts'
import { serve } from '../fixtures/services/service.ts'
import { assertEqualStores } from '../fixtures/stores/digest-store.ts'
import { dumpStore } from '../fixtures/stores/dump-store.ts'
import { createLiveStore } from '../fixtures/stores/live-store.ts'
import { openStore, STORE_KINDS, type StoreKind, temporaryFolder } from '../fixtures/stores/stores.ts'
import { until } from '../fixtures/until.ts'

/* Tests of behaviour that every resource gets from its description, on rows with few different values. */

const BLOCKS = 12
const EVENTS_OF_BLOCK = 8

const ajv = new Ajv2020({ strict: true, allErrors: true })
const document = openApiDocument('0.0.0-test') as {
  paths: Record<string, { get: { parameters?: ({ name: string } | { $ref: string })[]; responses: object } }>
  components: { parameters: Record<string, { name: string }> }
}

/** A store that is filled block by block, and the model of its content. */
async function openFilled(
  t: TestContext,
  kind: StoreKind,
  { events, ...rest }: ResourceCase,
  blocks = BLOCKS,
) {
  const { store, live } = await createLiveStore(t, kind)
  const model = new PageModel({ events, ...rest })
  const lists = fc.sample(fc.array(events, { minLength: EVENTS_OF_BLOCK, maxLength: EVENTS_OF_BLOCK }), {
    seed: 2,
    numRuns: BLOCKS + 1,
  })
  const commit = async () => {
    const height = live.height + 1
    const list = height === 1 ? [] : lists[height - 1]!
    await live.commit(height, list)
    model.add(height, list)
  }
  for (let block = 0; block <= blocks; block++) await commit()
  return { store, live, model, commit }
}

/** Selections of a resource, without times, those with the most rows first. Streams and exports have the same rows of them. */
function filtersOf(resourceCase: ResourceCase, model: PageModel): Selection[] {
  const { selectionRule } = resourceCase.resource
  const all = fc
    .sample(selectionsOf(resourceCase), { seed: 2, numRuns: 60 })
    .map(({ from: _, to: __, ...filters }) => filters)
    .filter((filters) => selectionRule?.(filters, 'list').greatest === undefined)
  const different = [...new Map(all.map((one) => [JSON.stringify(one, textOfBigint), one])).values()]
  return different
    .map((selection) => ({ selection, count: model.rows(selection).length }))
    .filter(({ count }) => count > 0)
    .sort((a, b) => b.count - a.count)
    .map(({ selection }) => selection)
}

const textOfBigint = (_: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value)

/** The path and query of a resource's stream with a selection. */
function streamTarget(
  { resource }: ResourceCase,
  selection: Selection,
  more: [string, string][] = [],
): string {
  const { params } = targetOf(resource, selection)
  const scope = scopeOf(resource, selection)
  return `${streamPath(resource)}${query([...(scope === null ? [] : [['marketId', scope] as [string, string]]), ...params, ...more])}`
}

for (const kind of STORE_KINDS) {
  for (const resourceCase of RESOURCE_CASES) {
    const { resource } = resourceCase
    describe(`${resource.name} (${kind.name})`, () => {
      test(`the stream of ${resource.name} sends every row, as in pages`, async (t) => {
        const { store, live, model, commit } = await openFilled(t, kind, resourceCase, 0)
        const base = await serve(t, store)
        const whole = await openFilled(t, kind, resourceCase)
        const selections = filtersOf(resourceCase, whole.model).slice(0, 3)
        assert.ok(selections.length > 0)
        const followed = await Promise.all(
          selections.map((selection) =>
            listen(base, streamTarget(resourceCase, selection, [['afterBlock', '0']])),
          ),
        )
        const had = followed.map(() => [] as string[])
        while (live.height <= BLOCKS) {
          await commit()
          if (live.height % 4 !== 0) continue
          for (const [index, listener] of followed.entries()) {
            listener.cut()
            await listener.ended
            had[index]!.push(...listener.events.map(({ data }) => data))
            followed[index] = await listen(base, streamTarget(resourceCase, selections[index]!), listener.id)
          }
        }
        for (const [index, selection] of selections.entries()) {
          const { path, params } = targetOf(resource, selection)
          const paged = await rowsOf(base, path, params)
          assert.deepEqual(paged.length, model.rows(selection).length)
          assert.ok(paged.length > 0)
          const sent = () => [...had[index]!, ...followed[index]!.events.map(({ data }) => data)]
          await until(() => paged.every((row) => sent().includes(row)), `all rows of ${path}`)
          assert.ok(followed[index]!.events.every(({ event }) => event === resource.name))
          followed[index]!.cut()
          // A follower from the beginning gets the current rows, each once.
          const fresh = await listen(base, streamTarget(resourceCase, selection, [['afterBlock', '0']]))
          await until(() => fresh.events.length >= paged.length, 'as many rows')
          assert.deepEqual(fresh.events.map(({ data }) => data).sort(), paged.toSorted())
          fresh.cut()
          // A stream can start at a row's cursor, and at the id of its event.
          const page = await getPage(base, path, params)
          const back = await listen(
            base,
            streamTarget(resourceCase, selection, [['after', page.edges[0]!.cursor]]),
          )
          back.cut()
        }
      })

      test(`exports of ${resource.name} contain the rows of pages`, async (t) => {
        const { store, model } = await openFilled(t, kind, resourceCase)
        const base = await serve(t, store)
        const [selection] = filtersOf(resourceCase, model) as [Selection]
        const { path, params } = targetOf(resource, selection)
        const { edges } = await getPage(base, path, [...params, ['pagination.first', '5000']])
        assert.equal(edges.length, model.rows(selection).length)
        const ndjson = await send(base, `${path}${query([...params, ['format', 'ndjson']])}`)
        const lines = edges.map(({ node, cursor }) => `${onOneLine(JSON.stringify({ ...node, cursor }))}\n`)
        assert.equal(ndjson.text, lines.join(''))
        const csv = await send(base, `${path}${query([...params, ['format', 'csv']])}`)
        const { columns } = exportTableOf(resource)
        assert.equal(
          csv.text.slice(0, csv.text.indexOf('\r\n')),
          [...columns.map(({ name }) => name), 'cursor'].join(','),
        )
        for (const { cursor } of edges) assert.ok(csv.text.includes(`,${cursor}\r\n`), cursor)
        const args = Object.entries(selection).flatMap(([name, value]) => [
          `--${wordsOfName(FILTERS[name as FilterName].option, '-')}`,
          textsOf(name, value).join(','),
        ])
        for (const [format, text] of [
          ['ndjson', ndjson.text],
          ['csv', csv.text],
        ] as const) {
          const ran = await runLyra(t, [
            'export',
            resource.kebabName,
            ...args,
            '--store',
            store,
            '--format',
            format,
          ])
          assert.equal(ran.code, 0, ran.stderr)
          assert.equal(ran.stdout, text)
        }
        const file = join(temporaryFolder(t), 'rows.parquet')
        const ran = await runLyra(t, [
          'export',
          resource.kebabName,
          ...args,
          '--store',
          store,
          '--format',
          'parquet',
          '--text',
          '--out',
          file,
        ])
        assert.equal(ran.code, 0, ran.stderr)
        const bytes = readFileSync(file)
        assert.equal(`${bytes.subarray(0, 4)}${bytes.subarray(-4)}`, 'PAR1PAR1')
        for (const { name } of columns) assert.ok(bytes.includes(name), name)
      })

      for (const toKind of STORE_KINDS) {
        test(`a copy to ${toKind.name} contains ${resource.name}`, async (t) => {
          const { store, model } = await openFilled(t, kind, resourceCase)
          const copy = toKind.create(t)
          await copyStore(openStore(store), openStore(copy))
          await assertEqualStores(copy, store)
          const [base, other] = [await serve(t, store), await serve(t, copy)]
          for (const selection of filtersOf(resourceCase, model)) {
            const { path, params } = targetOf(resource, selection)
            for (const newestFirst of ['true', 'false']) {
              const target = `${path}${query([...params, ['pagination.newestFirst', newestFirst]])}`
              const [one, two] = [await send(base, target), await send(other, target)]
              assert.equal(one.status, 200, one.text)
              assert.equal(two.text, one.text, target)
              assert.equal(two.headers.etag, one.headers.etag, target)
            }
          }
        })
      }

      test(`old rows of ${resource.name} are pruned as their table defines, and the check passes`, async (t) => {
        const { store } = await openFilled(t, kind, resourceCase)
        const { name, columns, pruned, counted } = tableOf(
          resource.storage.from === undefined ? resource.storage.table : resource.storage.derivedFrom![0]!,
        )
        const before = (await dumpStore(store))[name]!
        const bound: PruneBound = { by: 'height', before: BigInt(BLOCKS) / 2n }
        const report = await pruneStore(openStore(store), bound)
        const after = (await dumpStore(store))[name]!
        const at = columns.findIndex((column) => column.name === pruned?.height)
        const isOld = (row: string) => at >= 0 && BigInt((JSON.parse(row) as string[])[at]!) < bound.before
        assert.equal(report[counted!] ?? 0, before.length - after.length)
        // Data points carried over into a running period are kept (store-model.test.ts).
        if (name !== 'funding_period_data_points')
          assert.deepEqual(
            after,
            before.filter((row) => !isOld(row)),
          )
        const { problems } = await checkStore(openStore(store))
        assert.deepEqual(problems.reported, [])
      })

      test(`the OpenAPI document describes pages of ${resource.name}`, async (t) => {
        const { store, model } = await openFilled(t, kind, resourceCase)
        const base = await serve(t, store)
        const names = (path: string) =>
          document.paths[path.replace(/:(\w+)/, '{$1}')]!.get.parameters!.map((parameter) =>
            '$ref' in parameter
              ? document.components.parameters[parameter.$ref.split('/').at(-1)!]!.name
              : parameter.name,
          )
        for (const { name } of parametersOf(resource)) assert.ok(names(resource.path).includes(name), name)
        for (const { name } of streamParametersOf(resource)) {
          assert.ok(names(streamPath(resource)).includes(name), name)
        }
        const validate = ajv.compile(closed(NODE_SCHEMAS[resource.nodeName]!))
        let nodes = 0
        for (const selection of filtersOf(resourceCase, model)) {
          const { path, params } = targetOf(resource, selection)
          for (const { node } of (await getPage(base, path, params)).edges) {
            assert.ok(validate(node), `${JSON.stringify(node)}: ${ajv.errorsText(validate.errors)}`)
            nodes++
          }
        }
        assert.ok(nodes > 2)
        const { coverage } = await getJson<{ coverage: object }>(base, '/api/v2/coverage')
        assert.ok(resource.name in coverage)
      })
    })
  }
}
