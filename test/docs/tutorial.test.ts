import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { FIRST_SECOND } from '#tools/generate/clock'
import { generateBlocks } from '#tools/generate/generate'
import { assertSays } from '../fixtures/assert-says.ts'
import { documentedPages, ROOT } from '../fixtures/documentation.ts'
import { readRecording } from '../fixtures/events/event-stream.ts'
import { getPage, send, statusOf } from '../fixtures/requests/http.ts'
import { listen } from '../fixtures/requests/listen.ts'
import { startLive, stop, untilHeight } from '../fixtures/services/live.ts'
import { freePort } from '../fixtures/services/port.ts'
import {
  addressOf,
  assertFails,
  corePortOf,
  ended,
  runLyra,
  runWell,
  startLyra,
  startProgram,
} from '../fixtures/services/program.ts'
import { startReceiver } from '../fixtures/services/receiver.ts'
import { storeOf, tryIngest } from '../fixtures/services/service.ts'
import { MONTH } from '../fixtures/shared.ts'
import { assertEqualStores } from '../fixtures/stores/digest-store.ts'
import { ANY_STORE_KIND, sqlite, temporaryFolder } from '../fixtures/stores/stores.ts'
import { until } from '../fixtures/until.ts'

const PAGE = documentedPages().find(({ path }) => path === 'docs/tutorial.md')!

/** A documented call of the program. */
function documented(command: string): string {
  const block = PAGE.blocks.find(({ text }) => text.startsWith(`lyra ${command} `))
  assert.ok(block !== undefined, command)
  return block.text.trim().slice('lyra '.length)
}

test('The tutorial shows a service whose chart follows the generated blocks', async (t) => {
  const folder = temporaryFolder(t)
  const free = '--port 0 --listen 127.0.0.1:0 --event-log log'
  const service = startLyra(t, `${documented('serve')} ${free}`, { cwd: folder })
  const base = await addressOf(service)
  const port = await corePortOf(service)
  const generate = documented('generate').replace(/:3005\b/, `:${port}`)
  const sender = startLyra(t, generate)
  await until(async () => (await statusOf(base, '/ready')) === 200, 'a current service')

  const { marketId } = (await getPage(base, '/api/v2/market-summaries')).edges[0]!.node
  const points = await listen(base, `/api/v2/stream/funding-period-data-points?marketId=${marketId}`)
  const before = points.events.length
  await until(() => points.events.length >= before + 2, 'new points')
  const series = await send(base, `/api/v2/series/funding-period-data-points/${marketId}?interval=1s`)
  assertSays(series.text, '"count":"1"')
  points.cut()

  const estimate = async () => (await send(base, `/api/v2/funding-estimates/${marketId}`)).text
  await until(async () => /"fundingEstimate":\{.*"fundingRate":"-?\d/.test(await estimate()), 'an estimate')

  const shown = PAGE.blocks.find(({ text }) => text.startsWith('curl -sN'))!.text
  const target = /127\.0\.0\.1:3008([^"]+)/.exec(shown)![1]!.replace('MARKET', String(marketId))
  const periods = await listen(base, target)
  assert.equal(JSON.parse(periods.events[0]!.data).seq, '0')
  periods.cut()

  sender.child.kill('SIGINT')
  await ended(sender, 130)
  const { text: coverage } = await send(base, '/api/v2/coverage')
  assert.match(coverage, /"ranges":\[\{"from":"1","to":"\d+"\}\],"gaps":\[\]/)

  // Restarted, it sends the same blocks from the beginning; stored ones are skipped.
  const isConnected = async (count: 0 | 1) =>
    (await send(base, '/metrics')).text.includes(`lyra_live_core_connected ${count}\n`)
  await until(() => isConnected(0), 'the end of the first connection')
  const again = startLyra(t, generate)
  await until(() => isConnected(1), 'another connection')
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  assert.equal(await statusOf(base, '/ready'), 200)
  assert.equal(again.child.exitCode, null, again.output.stderr)
  again.child.kill('SIGTERM')
  await ended(again, 130)
})

describe('lyra generate --dial', () => {
  const DIAL = 'generate --blocks 3 --markets 2 --points 2 --seed 9 --dial'

  for (const kind of ANY_STORE_KIND) {
    test(`sends the blocks of the same file, with current times, at their pace (${kind.name})`, async (t) => {
      const folder = temporaryFolder(t)
      const store = kind.create(t)
      const live = await startLive(t, store, join(folder, 'log'))
      const startedAt = performance.now()
      const sender = await runWell(t, `${DIAL} 127.0.0.1:${live.corePort}`)
      const ms = performance.now() - startedAt
      assert.equal(sender.stdout, '')
      // Three blocks are two intervals of 1 to 1.15 s.
      assert.ok(ms >= 2_000 && ms < 15_000, `${ms} ms`)
      await untilHeight(live, 3)
      const { headers } = await fetch(`${live.base}/api/v2/coverage`)
      const lastTime = BigInt(headers.get('x-block-timestamp')!)
      const age = Date.now() - Number(lastTime / 1_000_000n)
      assert.ok(age >= 0 && age < 15_000, `${age} ms`)
      await stop(live)

      const plain = kind.create(t)
      const options = { blocks: 3, markets: 2, points: 2, seed: 9 }
      const of2024 = [...generateBlocks(options)].at(-1)!.time
      const startSecond = FIRST_SECOND + Number((lastTime - of2024) / 1_000_000_000n)
      const records = [...generateBlocks(options, startSecond)].map((block) => block.records)
      await tryIngest(plain, Buffer.concat(records))
      await assertEqualStores(store, plain)
    })
  }

  test('reports an address without a service, and an invalid address', async (t) => {
    await assertFails(
      t,
      `${DIAL} 127.0.0.1:9`,
      'lyra: --dial 127.0.0.1:9: ECONNREFUSED; check that a service was started there with --listen; its log says if it has another core, or another chain in its store\n',
      1,
    )
    const invalid = '--dial...It must be an address and a port, such as 127.0.0.1:3005'
    await assertFails(t, `${DIAL} 3005`, invalid, 2)
  })

  test('ends with an error when the service stops', async (t) => {
    const receiver = await startReceiver(t)
    const sender = startLyra(t, `generate --blocks 1000 --dial 127.0.0.1:${receiver.port}`)
    await until(() => receiver.connections.length === 1, 'a connection')
    await receiver.kill()
    const { code, stderr } = await sender.outcome
    assert.equal(code, 1)
    assert.match(stderr, /^lyra: --dial 127\.0\.0\.1:\d+: [^\n]+; check that a service was started there/)
  })
})

describe('lyra generate --replay', () => {
  test('sends a recording: blocks below the start at once, the rest at the speed given', async (t) => {
    const folder = temporaryFolder(t)
    const store = join(folder, 'lyra.db')
    const live = await startLive(t, store, join(folder, 'log'))
    const [path, args] = documentedReplay()
    assert.equal(path, 'sample/month.evts.gz')
    const sender = startLyra(t, `generate --replay ${MONTH} ${args} --dial 127.0.0.1:${live.corePort}`)
    // Of the last week, dated 15 minutes apart, a block comes each second, and not all 671 at once.
    await untilHeight(live, 2_307)
    const { headers } = await fetch(`${live.base}/api/v2/coverage`)
    assert.ok(Number(headers.get('x-block-height')) < 2_400)
    sender.child.kill('SIGINT')
    await ended(sender, 130)

    // Sent again, everything in time for a test, it leaves what ingesting the file does.
    await runWell(t, `generate --replay ${MONTH} --start 3000 --dial 127.0.0.1:${live.corePort}`)
    await untilHeight(live, 2_975)
    await stop(live)
    await assertEqualStores(store, await storeOf(t, sqlite, MONTH))
  })

  test('refuses files that it cannot send', async (t) => {
    const folder = temporaryFolder(t)
    const damaged = join(folder, 'damaged.evts')
    writeFileSync(damaged, Buffer.concat([readRecording(MONTH).subarray(0, 10_000), Buffer.alloc(10_000)]))
    const dial = `--dial 127.0.0.1:${(await startReceiver(t)).port}`
    const unreadable = /damaged\.evts.*record \d+.*not a BusEvent: a field number of 0/
    for (const [args, message, code] of [
      [`--replay ${MONTH}`, '--replay sends a recording: it needs --dial', 2],
      [`--replay ${MONTH} --blocks 5 ${dial}`, "'--replay <file>' cannot be used with ...'--blocks <n>'", 2],
      [`--replay ${MONTH} --speed 0 ${dial}`, '--speed must be more than 0 and at most 1000000, not 0', 2],
      ['--speed 2 --blocks 5', '--speed is that of a recording: it needs --replay', 2],
      [`--replay ${join(folder, 'none.evts')} ${dial}`, 'none.evts: no such file', 1],
      [`--replay ${damaged} ${dial}`, unreadable, 1],
      // A folder's files are one recording.
      [`--replay ${folder} ${dial}`, unreadable, 1],
    ] as const) {
      await assertFails(t, `generate ${args}`, message, code)
    }
    await assertFails(t, 'generate', '--blocks or --replay is missing', 2)
    // A file without an event is reported once it is read.
    writeFileSync(damaged, '')
    const empty = await runLyra(t, `generate --replay ${damaged} ${dial}`)
    assert.deepEqual([empty.code, /contains no complete event/.test(empty.stderr)], [1, true])
  })
})

/** The file and the pace of the replay in docs/generate.md. */
function documentedReplay(): [path: string, pace: string] {
  const { blocks } = documentedPages().find(({ path }) => path === 'docs/generate.md')!
  const { text } = blocks.find(({ text }) => text.includes('--replay'))!
  const [, path, pace] = /--replay (\S+) (.*) --dial/.exec(text)!
  return [path!, pace!]
}

describe('the script of npm start', () => {
  const START = join(ROOT, 'scripts/start.ts')

  test('serves the sample, and names addresses that answer', async (t) => {
    const folder = temporaryFolder(t)
    const script = startProgram(t, process.execPath, [START, '--port', '0'], { cwd: folder })
    await script.printed('/api/v2/checkpoints')
    const paths = [...script.output.stdout.matchAll(/^ {2}(http:\/\/\S+)$/gm)].map(([, url]) => url!)
    assert.ok(paths.length > 5)
    for (const url of paths) assert.equal((await fetch(url)).status, 200, url)
    const { edges } = await getPage(new URL(paths[0]!).origin, '/api/v2/checkpoints')
    assert.equal(edges.length, 186)
    script.child.kill('SIGINT')
    await ended(script)
  })

  test('refuses files and a store of which the demo would make no use', async () => {
    for (const more of [[MONTH], ['--store', 'other.db']]) {
      const { status, stderr } = spawnSync(process.execPath, [START, '--demo', ...more], { encoding: 'utf8' })
      assert.equal(status, 2)
      assert.match(
        stderr,
        /^lyra: --demo shows the sample, in a store of its own: give no files and no --store$/m,
      )
    }
  })

  test('shows the last week of the sample live, in a store that goes with it', async (t) => {
    const folder = temporaryFolder(t)
    const core = `127.0.0.1:${await freePort()}`
    const env = { TMPDIR: folder }
    const script = startProgram(t, process.execPath, [START, '--demo', '--port', '0', '--listen', core], {
      env,
    })
    const [, base] = await script.printed(/^ {2}(http:\/\/127\.0\.0\.1:\d+)\//m)
    await until(
      async () => Number((await fetch(`${base}/api/v2/coverage`)).headers.get('x-block-height')) > 2_305,
      'live blocks',
    )
    assert.equal(await statusOf(base!, '/ready'), 200)
    assert.deepEqual(readdirSync(folder).length, 1)
    script.child.kill('SIGINT')
    await ended(script)
    assert.deepEqual(readdirSync(folder), [])
  })
})
