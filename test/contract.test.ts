import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { query, send } from './fixtures/http.ts'
import { ingestWhole, serve } from './fixtures/service.ts'
import {
  type GoldenCase,
  type GoldenValue,
  goldenNames,
  readGolden,
  recordingPath,
  skip,
} from './fixtures/shared.ts'
import { STORE_KINDS } from './fixtures/stores.ts'

type Edge = { node: object; cursor: string }

/** Recordings that there are with events of markets and assets besides (`-named`): all answers stay the same. */
const NAMED = ['perps-calm', 'perps-long']

/** Each variant of the recording of a golden file. */
function withVariants(name: string): [name: string, variant: '' | '-named'][] {
  const isNamed = NAMED.includes(name.split('/').at(-1)!)
  return isNamed
    ? [
        [name, ''],
        [name, '-named'],
      ]
    : [[name, '']]
}

test('the answers for funding periods are all there', () => {
  const names = goldenNames().filter((name) => name.startsWith('funding-periods/'))
  assert.deepEqual(
    names.map((name) => name.split('/')[1]),
    ['four-periods', 'perps-calm', 'perps-long', 'synthetic'],
  )
  assert.equal(
    names.reduce((sum, name) => sum + readGolden(name)!.cases.length, 0),
    8_429,
  )
})

for (const store of STORE_KINDS) {
  describe(`the right answers on the recordings (${store.name})`, () => {
    for (const [name, variant] of goldenNames().flatMap(withVariants)) {
      test(`every case of ${name}${variant}`, async (t) => {
        const golden = readGolden(name)
        const recording =
          golden === null ? null : recordingPath(golden.events.replace('.evts.gz', `${variant}.evts.gz`))
        if (golden === null || recording === null) return skip(t, `the recording ${name} is not there`)
        const place = store.create(t)
        await ingestWhole(place, recording)
        const base = await serve(t, place)
        const edgesOf = new Map<string, Edge[]>()
        const paramText = (value: GoldenValue): string =>
          typeof value === 'string' ? value : edgesOf.get(value.cursorOf[0])!.at(value.cursorOf[1])!.cursor

        for (const asked of golden.cases) {
          const params = asked.params.map(([key, value]): [string, string] => [key, paramText(value)])
          // A name may be percent-encoded already.
          const target = `${asked.path}${query(params).replaceAll(/%25(?=[0-9A-F]{2}[^=&]*=)/g, '%')}`
          const answer = await send(base, target)
          const where = `${asked.id}: ${target}\n${answer.text.slice(0, 500)}`
          assert.equal(answer.status, asked.status, where)
          assert.equal(answer.headers['content-type'], 'application/json', where)
          assert.equal(answer.headers['x-block-height'], golden.height, where)
          assert.equal(answer.headers['x-block-timestamp'], golden.timestamp, where)
          const body = JSON.parse(answer.text) as Record<string, unknown>
          if (asked.status === 200) edgesOf.set(asked.id, checkPage(body, asked, golden.nodes, where))
          else checkError(body, asked, where)
        }
        assert.ok(golden.cases.length > 0)
      })
    }
  })
}

function checkPage(body: Record<string, unknown>, asked: GoldenCase, nodes: object[], where: string): Edge[] {
  assert.deepEqual(Object.keys(body), [asked.key], where)
  const { edges, pageInfo } = body[asked.key!] as { edges: Edge[]; pageInfo: Record<string, unknown> }
  assert.deepEqual(
    edges.map(({ node }) => node),
    asked.rows!.map((row) => nodes[row]),
    where,
  )
  assert.deepEqual(
    pageInfo,
    {
      hasNextPage: asked.hasNextPage,
      hasPreviousPage: asked.hasPreviousPage,
      startCursor: edges[0]?.cursor ?? '',
      endCursor: edges.at(-1)?.cursor ?? '',
    },
    where,
  )
  const cursors = edges.map(({ cursor }) => cursor)
  assert.equal(new Set(cursors).size, cursors.length, where)
  for (const cursor of cursors) assert.match(cursor, /^[A-Za-z0-9_-]+$/, where)
  return edges
}

function checkError(body: Record<string, unknown>, asked: GoldenCase, where: string): void {
  assert.equal(body.code, asked.code, where)
  const details = body.details as { '@type': string; code: number }[]
  assert.equal(details[0]?.code, asked.detailCode, where)
  for (const detail of details) assert.equal(detail['@type'], 'type.googleapis.com/vega.ErrorDetail')
}
