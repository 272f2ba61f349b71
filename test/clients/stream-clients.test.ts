import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, mock, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { rolldown } from 'rolldown'
import { documentedPages, ROOT } from '../fixtures/documentation.ts'
import { launchBrowser } from '../fixtures/explorer/launch-browser.ts'
import { metricsOf } from '../fixtures/requests/http.ts'
import { listen } from '../fixtures/requests/listen.ts'
import { startNginx } from '../fixtures/services/nginx.ts'
import { freePort } from '../fixtures/services/port.ts'
import { addressOf, type RunningProgram, startLyra, startProgram } from '../fixtures/services/program.ts'
import { CLIENT_PATH, hasPython, PYTHON } from '../fixtures/services/python.ts'
import { skip } from '../fixtures/shared.ts'
import { checkpointAt, createLiveStore } from '../fixtures/stores/live-store.ts'
import { STORE_KINDS, type StoreKind } from '../fixtures/stores/stores.ts'
import { until } from '../fixtures/until.ts'
import { NODE_CLIENTS } from './streams/in-node.ts'

/*
 * The libraries that people use, and the documented loops, follow checkpoints at one service while it is killed, stopped or
 * away behind nginx. Each must get every row once, in order, from its connection on.
 */

const STREAMS = join(import.meta.dirname, 'streams')
const STREAM = '/api/v2/stream/checkpoints'

/** The blocks of the rows that each client has received, by its name. */
type Received = Map<string, string[]>

/** Starts the clients of one kind at a service, or proxy; returns what they have received until now, or why they cannot run. */
type Start = (t: TestContext, base: string) => Promise<(() => Received) | string>

const heightOf = (data: string) => String((JSON.parse(data) as { atBlock: string }).atBlock)

/** Collects the rows of clients that call a function. */
function collect(names: readonly string[]) {
  const received: Received = new Map(names.map((name) => [name, []]))
  const onRow = (name: string, data: string) => void received.get(name)!.push(heightOf(data))
  return { received: () => received, onRow }
}

/** Reads the rows that a program prints, each after the client's name and a tab. */
function printed(names: readonly string[], { output, child }: RunningProgram): () => Received {
  return () => {
    assert.equal(child.exitCode, null, output.stderr)
    const lines = output.stdout.split('\n').slice(0, -1)
    const rows = lines.map((line) => line.split('\t') as [name: string, height: string])
    return new Map(
      names.map((name) => [name, rows.filter(([own]) => own === name).map(([, height]) => height)]),
    )
  }
}

// event-source-polyfill reports each lost connection.
before(() => void mock.method(console, 'error', () => {}))

const inNode: Start = async (t, base) => {
  const { received, onRow } = collect(Object.keys(NODE_CLIENTS))
  for (const [name, follow] of Object.entries(NODE_CLIENTS))
    t.after(follow(`${base}${STREAM}`, (data) => onRow(name, data)))
  return received
}

let browser: ReturnType<typeof launchBrowser> | null = null
after(async () => (await browser)?.close())

const BROWSER_CLIENTS = [
  'EventSource',
  'event-source-polyfill 1.0.31',
  'reconnecting-eventsource 1.6.5',
  'fetch-event-source 2.0.1',
].map((name) => `${name} in Chromium`)

const inChromium: Start = async (t, base) => {
  browser ??= launchBrowser()
  const context = await (await browser)?.newContext()
  if (context === undefined) return 'Chromium is not installed'
  t.after(() => context.close())
  const bundle = await rolldown({ input: join(STREAMS, 'in-page.js'), platform: 'browser' })
  const { output } = await bundle.generate({ format: 'iife' })
  const page = await context.newPage()
  const { received, onRow } = collect(BROWSER_CLIENTS)
  await page.exposeFunction('onRow', onRow)
  // A page of the service's own address, which stays while the service is away.
  await page.goto(`${base}/health`)
  await page.evaluate(output[0].code)
  await page.evaluate(`followCheckpoints('${base}${STREAM}', onRow)`)
  return received
}

/** The functions `follow` of the documentation, by their clients. */
function documentedLoops(): Record<string, string> {
  const blockWith = (page: string, part: string) =>
    documentedPages()
      .find(({ path }) => path === page)!
      .blocks.find(({ language, text }) => language === 'python' && text.includes(part))!.text
  const loopOf = (text: string) => text.slice(0, text.search(/^(?:for|with) /m))
  return {
    'httpx-sse 0.4.3': loopOf(blockWith('docs/streams.md', 'import httpx_sse')),
    'sseclient-py 1.9.0': loopOf(blockWith('docs/streams.md', 'import sseclient')),
  }
}

const inPython: Start = async (t, base) => {
  const modules = ['requests_sse', 'httpx_sse', 'sseclient']
  if (!hasPython(...modules)) return `one of Python, ${modules.join(', ')} is not installed`
  const loops = documentedLoops()
  const args = [join(STREAMS, 'follow.py'), `${base}/api/v2/stream`, JSON.stringify(loops)]
  const names = ['requests-sse 0.5.3', 'Python client', ...Object.keys(loops)]
  return printed(names, startProgram(t, PYTHON, args, { env: { PYTHONPATH: CLIENT_PATH } }))
}

const GO = join(STREAMS, 'go')
const GO_ENV = { GOTOOLCHAIN: 'local', GOFLAGS: '', GOPROXY: 'off' }

/** The program with the documented example in it, which is built once; or why it cannot be built. */
let goProgram: { path: string } | { reason: string } | null = null
const folder = mkdtempSync(join(tmpdir(), 'lyra-test-'))
after(() => rmSync(folder, { recursive: true, force: true }))

function buildGo(): { path: string } | { reason: string } {
  if (spawnSync('go', ['version']).status !== 0) return { reason: 'Go is not installed' }
  const options = { env: { ...process.env, ...GO_ENV }, encoding: 'utf8' } as const
  const libraries = ['list', 'github.com/launchdarkly/eventsource', 'github.com/tmaxmax/go-sse']
  if (spawnSync('go', libraries, { ...options, cwd: GO }).status !== 0)
    return { reason: 'a module for Go of test/clients/streams is not installed' }
  for (const name of ['go.mod', 'go.sum', 'main.go']) copyFileSync(join(GO, name), join(folder, name))
  const example = readFileSync(join(ROOT, 'client/examples/follow-funding-points.go'), 'utf8')
  writeFileSync(join(folder, 'example.go'), example.replace('func main()', 'func example()'))
  const path = join(folder, 'streams')
  const { status, stderr } = spawnSync('go', ['build', '-o', path], { ...options, cwd: folder })
  assert.equal(status, 0, stderr)
  return { path }
}

const inGo: Start = async (t, base) => {
  goProgram ??= buildGo()
  if ('reason' in goProgram) return goProgram.reason
  const names = ['launchdarkly/eventsource 1.11.0 (Go)', 'go-sse 0.11.0', 'Go example']
  return printed(names, startProgram(t, goProgram.path, [`${base}${STREAM}`]))
}

/** How the service ends. */
type Ending = 'SIGKILL' | 'SIGTERM'

/** How long a client may wait before it comes back: requests-sse doubles its wait each time. */
const PATIENCE_MS = 20_000

type Scenario = { kind: StoreKind; ending: Ending; isBehindNginx?: boolean }

/**
 * Has all clients follow a service that ends three times: before and after their first row, and once more with a restart at once.
 * Each time blocks are committed meanwhile.
 */
async function assertEachRowOnce(t: TestContext, { kind, ending, isBehindNginx = false }: Scenario) {
  const { store, live } = await createLiveStore(t, kind)
  await live.commit(1, [checkpointAt(1)])
  const port = await freePort()
  const start = async () => {
    const service = startLyra(t, `serve --port ${port} --store ${store}`)
    return { service, base: await addressOf(service) }
  }
  let { service, base } = await start()
  let front = base
  if (isBehindNginx) {
    const servers = { '127.0.0.1:3108': `127.0.0.1:${port}`, '127.0.0.1:3008': `127.0.0.1:${port}` }
    const ports = await startNginx(t, 'lyra.conf', { own: ['127.0.0.1:8080', '443'], servers })
    if (ports === null) return
    front = `http://127.0.0.1:${ports[0]}`
  }

  const groups: (() => Received)[] = []
  for (const [where, begin] of Object.entries({
    Node: inNode,
    Chromium: inChromium,
    Python: inPython,
    Go: inGo,
  })) {
    const received = await begin(t, front)
    if (typeof received === 'string') await t.test(`in ${where}`, (t) => skip(t, received))
    else groups.push(received)
  }
  const rows = () => new Map(groups.flatMap((received) => [...received()]))
  const clientsWithout = (height: number) =>
    [...rows()].filter(([, heights]) => !heights.includes(`${height}`))
  /** Waits until all clients have a row, or have had time enough: the comparison at the end names those that lost it. */
  const untilAll = async (height: number) => {
    const end = performance.now() + PATIENCE_MS
    while (clientsWithout(height).length > 0 && performance.now() < end) await sleep(20)
  }
  const areOpen = new RegExp(`^lyra_streams\\{resource="checkpoints"\\} ${rows().size}$`, 'm')
  await until(async () => areOpen.test(await metricsOf(base)), `${rows().size} streams`)
  // Streams get their positions in the order in which they began.
  const last = await listen(front, STREAM)
  last.cut()
  await sleep(300)

  let height = 1
  const commit = async () => live.commit(++height, [checkpointAt(height)])
  for (const [rowsAway, awayMs] of [
    [3, isBehindNginx ? 3_000 : 1_200],
    [2, isBehindNginx ? 3_000 : 1_200],
    [1, 0],
  ] as const) {
    service.child.kill(ending)
    await service.outcome
    for (let row = 0; row < rowsAway; row++) await commit()
    await sleep(awayMs)
    ;({ service, base } = await start())
    await untilAll(height)
    await commit()
    await untilAll(height)
  }
  const expected = Array.from({ length: height - 1 }, (_, index) => `${index + 2}`)
  for (const [name, heights] of rows()) await t.test(name, () => assert.deepEqual(heights, expected))
}

describe('the clients of streams that people use get every row once', { concurrency: true }, () => {
  for (const kind of STORE_KINDS)
    test(`when the service is killed (${kind.name})`, (t) =>
      assertEachRowOnce(t, { kind, ending: 'SIGKILL' }))
  const kind = STORE_KINDS[0]!
  test('when the service is stopped', (t) => assertEachRowOnce(t, { kind, ending: 'SIGTERM' }))
  test('when the service is away behind the example for nginx', (t) =>
    assertEachRowOnce(t, { kind, ending: 'SIGTERM', isBehindNginx: true }))
})
