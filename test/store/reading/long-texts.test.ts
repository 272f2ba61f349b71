import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { MAX_PAGE_BYTES } from '#core/store/pages/edges'
import { readLongTexts } from '#core/store/queries/contents/long-texts'
import { TABLES } from '#core/store/schema/tables'
import { PREFIX_BYTES } from '#service/protos/prefix'
import { parameterReader } from '#service/questions/parameters'
import { questionAt } from '#service/questions/question-at'
import { checkStore } from '#tools/check/check-store'
import { fileOf, markedBlocks } from '../../fixtures/events/event-stream.ts'
import { send } from '../../fixtures/requests/http.ts'
import { methodsOf, TRADING_DATA } from '../../fixtures/requests/protos.ts'
import { inTurns } from '../../fixtures/sampling.ts'
import { runMeasured } from '../../fixtures/services/run-measured.ts'
import { capturedLog, serve, storeOf, storeOfBytes } from '../../fixtures/services/service.ts'
import { recorded, SAMPLE } from '../../fixtures/shared.ts'
import {
  describeOn,
  openReader,
  openStore,
  runSql,
  SQLITE,
  STORE_KINDS,
  type StoreKind,
} from '../../fixtures/stores/stores.ts'

const MAX_MEMORY_BYTES = 250_000_000

/** A text of so many digits, in SQL. */
const longText = (kind: { name: string }, length: number) =>
  kind.name === 'sqlite' ? `printf('%.*c', ${length}, '1')` : `repeat('1', ${length})`

/** Cells with the most characters that an event can bring, and their limits. */
const CELLS: [table: string, column: string, where: string, most: number, key: RegExp][] = [
  ['checkpoints', 'block_hash', 'at_block = (select min(at_block) from checkpoints)', 256, /\d+, \w+/],
  [
    'funding_period_data_points',
    'price',
    'timestamp = (select min(timestamp) from funding_period_data_points)',
    256,
    /\d+, \d, \d+, \d+/,
  ],
  [
    'funding_periods',
    'funding_rate',
    'seq = (select min(seq) from funding_periods)',
    256,
    /[0-9a-f]{64}, \d+/,
  ],
  ['instruments', 'name', 'true', 1024, /[0-9a-f]{64}/],
  ['instruments', 'interest_rate', 'true', 256, /[0-9a-f]{64}/],
]

describeOn(STORE_KINDS, 'texts that no event can bring', (kind) => {
  for (const [table, column, where, most, key] of CELLS) {
    test(`${table}: check finds a longer ${column}, and none of the most characters`, async (t) => {
      const store = await storeOf(t, kind, table === 'instruments' ? recorded('perps-calm-named') : SAMPLE)
      const write = (text: string) => runSql(store, `update ${table} set ${column} = ${text} where ${where}`)
      // As many characters, and more bytes.
      await write(`'${'é'.repeat(most)}'`)
      const reader = await openStore(store).openTableReader()
      const found = await Promise.all(TABLES.map((one) => reader.run(readLongTexts(one))))
      await reader.close()
      assert.deepEqual(found.flat(), [])
      await write(`'${'é'.repeat(most + 1)}'`)
      const { problems, isReadable, notes } = await checkStore(openStore(store))
      const [{ where: place, what }] = problems.reported as [{ where: string; what: string }]
      assert.match(place, new RegExp(`^${table} \\((?:${key.source})\\)$`))
      const shown = (value: number) => value.toLocaleString('en')
      assert.equal(
        what,
        `${column} has ${shown(2 * most + 2)} bytes, but an event can bring only ${shown(most)} characters`,
      )
      assert.equal(isReadable, false)
      assert.match(notes.join(), /the rows were not checked: some texts are too long to be read/)
    })
  }

  test('are found without being read into memory', async (t) => {
    const store = await storeOf(t, kind, SAMPLE)
    await runSql(
      store,
      `update checkpoints set block_hash = ${longText(kind, 120_000_000)} where at_block = (select min(at_block) from checkpoints)`,
    )
    const { code, stdout, errors, memoryBytes } = await runMeasured(t, ['check', '--store', store])
    assert.equal(code, 1)
    assert.match(
      [stdout, ...errors].join('\n'),
      /checkpoints \(\d+, .{3,64}\): block_hash has 120,000,000 bytes, but an event can bring only 256 characters/,
    )
    assert.ok(memoryBytes < MAX_MEMORY_BYTES, `${memoryBytes} bytes of memory`)
  })
})

/** A store of checkpoints of the blocks 2 to 4, whose block hashes have so many megabytes. */
async function storeOfHashes(
  t: TestContext,
  kind: StoreKind,
  megabytes: (height: number) => number,
): Promise<string> {
  const heights = Array.from({ length: 3 }, (_, index) => index + 2)
  const store = await storeOfBytes(t, kind, fileOf(...markedBlocks(2, 4)))
  for (const height of heights)
    await runSql(
      store,
      `update checkpoints set block_hash = ${longText(kind, megabytes(height) * 1_000_000)} where at_block = ${height}`,
    )
  return store
}

type Checkpoints = {
  edges: { node: { atBlock: string; blockHash: string }; cursor: string }[]
  pageInfo: { hasNextPage: boolean; hasPreviousPage: boolean; startCursor: string; endCursor: string }
}

async function checkpointsOf(base: string, params: string): Promise<Checkpoints> {
  const { status, text } = await send(base, `/api/v2/checkpoints?${params}`)
  assert.equal(status, 200, text.slice(0, 1000))
  assert.ok(text.length < MAX_PAGE_BYTES + 1_000, `${text.length} bytes`)
  return (JSON.parse(text) as { checkpoints: Checkpoints }).checkpoints
}

describeOn(STORE_KINDS, 'pages of long texts', (kind) => {
  // The service reads SQLite in threads or not, and PostgreSQL always without.
  for (const inThreads of kind === SQLITE ? inTurns(1, [false, true]) : [false]) {
    const where = inThreads ? 'in a thread' : 'in the main thread'
    test(`a page ends before 64 MiB, read ${where}: clients that page on get all rows, both ways`, async (t) => {
      const megabytes = [30, 1, 50]
      const store = await storeOfHashes(t, kind, (height) => megabytes[height - 2]!)
      const base = await serve(t, store, { inThreads })
      const found: string[] = []
      for (let after = ''; ; ) {
        const { edges, pageInfo } = await checkpointsOf(
          base,
          `pagination.first=1000&pagination.newestFirst=false${after}`,
        )
        found.push(...edges.map(({ node }) => `${node.atBlock} ${node.blockHash.length}`))
        assert.equal(pageInfo.hasPreviousPage, after !== '')
        if (!pageInfo.hasNextPage) break
        after = `&pagination.after=${encodeURIComponent(pageInfo.endCursor)}`
      }
      const expected = megabytes.map((size, index) => `${index + 2} ${size * 1_000_000}`)
      assert.deepEqual(found, expected)
      const backward: string[] = []
      for (let before = ''; ; ) {
        const { edges, pageInfo } = await checkpointsOf(
          base,
          `pagination.last=1000&pagination.newestFirst=false${before}`,
        )
        backward.unshift(...edges.map(({ node }) => `${node.atBlock} ${node.blockHash.length}`))
        assert.equal(pageInfo.hasNextPage, before !== '')
        if (!pageInfo.hasPreviousPage) break
        before = `&pagination.before=${encodeURIComponent(pageInfo.startCursor)}`
      }
      assert.deepEqual(backward, expected)
    })
  }

  test('a row of more than 64 MiB is an internal error, whose log names lyra check', async (t) => {
    const store = await storeOfHashes(t, kind, (height) => (height === 4 ? 70 : 1))
    const { logger, lines } = capturedLog('error')
    const base = await serve(t, store, { logger })
    const { edges, pageInfo } = await checkpointsOf(base, 'pagination.first=5&pagination.newestFirst=false')
    assert.deepEqual(
      edges.map(({ node }) => node.atBlock),
      ['2', '3'],
    )
    const after = encodeURIComponent(pageInfo.endCursor)
    const [{ status, text }, ...others] = await Promise.all([
      send(
        base,
        `/api/v2/checkpoints?pagination.first=5&pagination.newestFirst=false&pagination.after=${after}`,
      ),
      ...Array.from({ length: 10 }, (_, rows) =>
        send(base, `/api/v2/market-summaries?pagination.first=${rows + 1}`),
      ),
    ])
    assert.equal(status, 500)
    assert.deepEqual(
      others.map((other) => other.status),
      Array(10).fill(200),
    )
    const { code, details } = JSON.parse(text)
    assert.deepEqual([code, details[0].code, details[0].message], [13, 10000, 'internal error'])
    assert.match(
      lines.join(),
      /a text of a row is longer than any that an event can bring; lyra check names it/,
    )
  })

  if (kind !== SQLITE) return
  for (const [last, what] of [
    [50, 'ends before 64 MiB'],
    [70, 'ends before a row of more than 64 MiB'],
  ] as const) {
    test(`a page over gRPC, which is encoded from rows, ${what}`, async (t) => {
      const megabytes = [30, 1, last]
      const store = await storeOfHashes(t, kind, (height) => megabytes[height - 2]!)
      const reader = await openReader(t, store)
      const question = questionAt('/api/v2/checkpoints')
      const readParameters = parameterReader(question.parameters, 'refused')
      const { responseDeserialize } = methodsOf(TRADING_DATA).ListCheckpoints!
      const pageAfter = async (after: string): Promise<Checkpoints> => {
        const pagination: [string, string][] = [
          ['pagination.first', '1000'],
          ['pagination.newestFirst', 'false'],
          ...(after === '' ? [] : [['pagination.after', after] as [string, string]]),
        ]
        const checked = question.check(readParameters(pagination), null)
        const { body } = (await question.render(checked, { reader, form: 'grpc' }))!
        assert.ok(body.length < MAX_PAGE_BYTES + 1_000, `${body.length} bytes`)
        return (responseDeserialize(body.subarray(PREFIX_BYTES)) as { checkpoints: Checkpoints }).checkpoints
      }
      const lengthsOf = ({ edges }: Checkpoints) => edges.map(({ node }) => node.blockHash.length / 1_000_000)
      const first = await pageAfter('')
      assert.deepEqual(lengthsOf(first), [30, 1])
      assert.equal(first.pageInfo.hasNextPage, true)
      const next = pageAfter(first.pageInfo.endCursor)
      if (last === 70) await assert.rejects(next, /longer than any that an event can bring/)
      else assert.deepEqual(lengthsOf(await next), [50])
    })
  }
})
