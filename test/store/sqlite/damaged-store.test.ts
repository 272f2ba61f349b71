import assert from 'node:assert/strict'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { StoreDamagedError } from '#core/store/errors'
import { explainPostgresError } from '#core/store/postgres/errors'
import { describeStatus } from '#tools/cli/describe-status'
import { statusOfService } from '#tools/status/service-status'
import { assertSays } from '../../fixtures/assert-says.ts'
import { fileOf } from '../../fixtures/events/event-stream.ts'
import { storeOfGenerated } from '../../fixtures/events/large-stream.ts'
import { metricsOf, send, statusOf } from '../../fixtures/requests/http.ts'
import { openReceiving, requestText } from '../../fixtures/requests/raw-http.ts'
import { end, startService } from '../../fixtures/services/program.ts'
import { capturedLog, ingest, NO_FILES, serve, storeOf } from '../../fixtures/services/service.ts'
import { CHECKPOINTS, NAMED_SAMPLE, PERIODS, POINTS, PROVIDERS } from '../../fixtures/shared.ts'
import { sqlite, temporaryFolder } from '../../fixtures/stores/stores.ts'
import { until } from '../../fixtures/until.ts'

/** Requests that together read every page of a small store. */
const TARGETS = [CHECKPOINTS, POINTS, PERIODS, PROVIDERS, '/api/v2/instruments', '/api/v2/coverage']

/** The pages of some tables in a file. */
function pagesOf(store: string, ...tables: string[]): [page: number][] {
  const database = new DatabaseSync(store, { readOnly: true, returnArrays: true })
  try {
    const names = tables.map((table) => `'${table}'`).join()
    return database.prepare(`select pageno from dbstat where name in (${names})`).all() as unknown as [
      number,
    ][]
  } finally {
    database.close()
  }
}

/** The pages with rows of a table, in the order of its key. */
function leavesOf(store: string, table: string): [page: number][] {
  const database = new DatabaseSync(store, { readOnly: true, returnArrays: true })
  try {
    const sql = `select pageno from dbstat where name = ? and pagetype = 'leaf' order by path`
    return database.prepare(sql).all(table) as unknown as [number][]
  } finally {
    database.close()
  }
}

test('a damaged page met by an answer makes the service not ready until it is started again', async (t) => {
  const made = await storeOf(t, sqlite, NAMED_SAMPLE)
  const store = join(temporaryFolder(t), 'lyra.db')
  copyFileSync(made, store)
  const bytes = readFileSync(store)
  // Not the pages without which no store is opened.
  for (const [page] of pagesOf(store, 'checkpoints', 'funding_period_data_points', 'funding_periods'))
    bytes.fill(0xee, (page - 1) * 4096, (page - 1) * 4096 + 600)
  writeFileSync(store, bytes)
  const { service, base } = await startService(t, `--store ${store}`)
  const ready = () => send(base, '/ready')
  await until(async () => (await ready()).status === 200, 'that it is ready before damage was met')
  const answers = await Promise.all(TARGETS.map((target) => send(base, target)))
  const refused = answers.filter(({ status }) => status === 503)
  assert.ok(refused.length > 0, `${answers.map(({ status }) => status)}`)
  for (const { text } of refused) {
    assertSays(text, 'the store is damaged, and cannot give this answer')
    assert.doesNotMatch(text, /try again/)
  }
  for (let look = 0; look < 3; look++) {
    const { status, text } = await ready()
    assert.equal(status, 503)
    assertSays(text, '"reason":"store damaged"')
  }
  assert.match(await metricsOf(base), /^lyra_unready\{reason="store damaged"\} 1$/m)
  assert.match(service.output.stderr, /"level":50.*store damaged: .*the file is damaged; restore a backup/)
  assert.doesNotMatch(describeStatus(await statusOfService(base)), /^blocks +none/m)
  await end(service)
})

for (const [what, target] of [
  ['an export that has begun', '/api/v2/export/funding-period-data-points?format=ndjson'],
  ['a stream', '/api/v2/stream/funding-period-data-points?afterBlock=0'],
] as const) {
  test(`a damaged page met by ${what} makes the service not ready`, async (t) => {
    const store = join(temporaryFolder(t), 'lyra.db')
    const options = { blocks: 20_000, markets: 1, points: 1, parties: 0, events: 0 }
    copyFileSync(await storeOfGenerated(t, sqlite, options), store)
    const bytes = readFileSync(store)
    const pages = leavesOf(store, 'funding_period_data_points')
    // Many rows can be read before.
    for (const [page] of pages.slice(pages.length * 0.6, pages.length * 0.7))
      bytes.fill(0xee, (page - 1) * 4096, page * 4096)
    writeFileSync(store, bytes)
    const { lines, logger } = capturedLog('error')
    const base = await serve(t, store, { inThreads: true, limits: NO_FILES, logger })
    assert.equal(await statusOf(base, '/ready'), 200)
    const { socket, received } = openReceiving(base)
    t.after(() => socket.destroy())
    socket.write(requestText(`GET ${target}`))
    await until(async () => (await statusOf(base, '/ready')) === 503, 'that it is not ready', 5)
    assertSays((await send(base, '/ready')).text, '"reason":"store damaged"')
    assert.match(received().toString(), /^HTTP\/1.1 200 /)
    assertSays(lines.join(''), 'store damaged: ')
  })
}

test('damage that PostgreSQL reports is known as such', () => {
  for (const code of ['XX001', 'XX002']) {
    const error = Object.assign(new Error('invalid page in block 7 of relation base/1/2'), { code })
    assert.ok(explainPostgresError('postgres://a', error) instanceof StoreDamagedError)
  }
})

test('the status of a service that cannot read its store says that its blocks are not known', () => {
  const service = {
    ready: false,
    live: null,
    upgrade: null,
    forward: null,
    cluster: [],
  }
  const report = { of: 'http://a', lastBlock: null, coverage: null, store: null }
  const blocks = (reason: string) =>
    /^blocks +(.*)$/m.exec(
      describeStatus({ ...report, service: { ...service, reasons: [{ reason, message: 'why' }] } }),
    )![1]
  assert.equal(blocks('store unreachable'), 'unknown while the store cannot be read')
  assert.equal(blocks('empty store'), 'none')
})

test("Readiness reports failed writes without the store's location", async (t) => {
  const folder = temporaryFolder(t)
  const store = join(folder, 'private-name.db')
  const file = join(folder, 'first.evts')
  writeFileSync(file, fileOf({ height: 5 }, { height: 6 }))
  await ingest(store, file)
  // From now on commits of blocks fail, as on a faulty disk.
  const raw = new DatabaseSync(store)
  raw.exec(`create trigger harm before update on stream begin select raise(abort, 'harmed'); end`)
  raw.close()
  const next = join(folder, 'next.evts')
  writeFileSync(next, fileOf({ height: 7 }, { height: 8 }))
  const { service: program, base } = await startService(t, `--store ${store} ${next}`)
  await program.printed(/ingestion stopped: .*private-name\.db: /)
  const { text } = await send(base, '/ready')
  assert.match(text, /"intake stopped","message":"the store: [^"]*harmed/)
  assert.doesNotMatch(text, /private-name/)
})
