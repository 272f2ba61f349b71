import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { FIRST_SECOND } from '#tools/generate/clock'
import { generateBlocks } from '#tools/generate/generate'
import { digestStore } from './fixtures/digest-store.ts'
import { documentedPages } from './fixtures/documentation.ts'
import { send, statusOf } from './fixtures/http.ts'
import { ingestBytes } from './fixtures/ingest-bytes.ts'
import { listen } from './fixtures/listen.ts'
import { startLive, stop, untilHeight } from './fixtures/live.ts'
import { addressOf, assertFails, corePortOf, runLyra, startLyra } from './fixtures/program.ts'
import { ANY_STORE_KIND, temporaryFolder } from './fixtures/stores.ts'
import { until } from './fixtures/until.ts'

const PAGE = documentedPages().find(({ path }) => path === 'docs/tutorial.md')!

/** The arguments of a documented call of the program. */
function argumentsOf(command: string): string[] {
  const block = PAGE.blocks.find(({ text }) => text.startsWith(`lyra ${command} `))
  assert.ok(block !== undefined, command)
  return block.text.trim().split(' ').slice(1)
}

/** Replaces the documented ports by free ones. */
async function startDocumented(t: TestContext, folder: string) {
  const service = startLyra(
    t,
    [...argumentsOf('serve'), '--port', '0', '--listen', '127.0.0.1:0', '--buffer', 'buffer'],
    { cwd: folder },
  )
  const base = await addressOf(service)
  const port = await corePortOf(service)
  return { service, base: base, port: port! }
}

describe('The tutorial', () => {
  test('shows a service whose chart follows the generated blocks', async (t) => {
    const folder = temporaryFolder(t)
    const { base, port } = await startDocumented(t, folder)
    const generate = argumentsOf('generate').map((text) => text.replace(/:3005$/, `:${port}`))
    const sender = startLyra(t, generate)
    await until(async () => (await statusOf(base, '/ready')) === 200, 'a current service')

    const { text } = await send(base, '/api/v2/market-summaries')
    const { marketId } = (
      JSON.parse(text) as { marketSummaries: { edges: { node: { marketId: string } }[] } }
    ).marketSummaries.edges[0]!.node
    const points = await listen(base, `/api/v2/stream/funding-period-data-points?marketId=${marketId}`)
    const before = points.events.length
    await until(() => points.events.length >= before + 2, 'new points')
    const series = await send(base, `/api/v2/series/funding-period-data-points/${marketId}?interval=1s`)
    assert.match(series.text, /"count":"1"/)
    points.cut()

    await until(async () => {
      const { text } = await send(base, `/api/v2/funding-estimates/${marketId}`)
      return /"fundingEstimate":\{.*"fundingRate":"-?\d/.test(text)
    }, 'an estimate')

    const shown = PAGE.blocks.find(({ text }) => text.startsWith('curl -sN'))!.text
    const target = /127\.0\.0\.1:3008([^"]+)/.exec(shown)![1]!.replace('MARKET', marketId)
    const periods = await listen(base, target)
    assert.equal(JSON.parse(periods.events[0]!.data).seq, '0')
    periods.cut()

    sender.child.kill('SIGINT')
    assert.equal((await sender.outcome).code, 130, sender.output.stderr)
    const { text: coverage } = await send(base, '/api/v2/coverage')
    assert.match(coverage, /"ranges":\[\{"from":"1","to":"\d+"\}\],"gaps":\[\]/)

    // Restarted, it sends the same blocks from the beginning; stored ones are skipped.
    const again = startLyra(t, generate)
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    assert.equal(await statusOf(base, '/ready'), 200)
    assert.equal(again.child.exitCode, null, again.output.stderr)
    again.child.kill('SIGTERM')
    assert.equal((await again.outcome).code, 130)
  })
})

describe('lyra generate --dial', () => {
  const OPTIONS = ['--blocks', '5', '--markets', '2', '--points', '2', '--seed', '9']

  for (const kind of ANY_STORE_KIND) {
    test(`sends the blocks of the same file, with current times, at their pace (${kind.name})`, async (t) => {
      const folder = temporaryFolder(t)
      const store = kind.create(t)
      const live = await startLive(t, store, join(folder, 'buffer'))
      const startedAt = performance.now()
      const sender = await runLyra(t, ['generate', ...OPTIONS, '--dial', `127.0.0.1:${live.corePort}`])
      const ms = performance.now() - startedAt
      assert.equal(sender.code, 0, sender.stderr)
      assert.equal(sender.stdout, '')
      // Five blocks are four intervals of 1 to 1.15 s.
      assert.ok(ms >= 4_000 && ms < 15_000, `${ms} ms`)
      await untilHeight(live, 5)
      const { headers } = await fetch(`${live.base}/api/v2/coverage`)
      const lastTime = BigInt(headers.get('x-block-timestamp')!)
      const age = Date.now() - Number(lastTime / 1_000_000n)
      assert.ok(age >= 0 && age < 15_000, `${age} ms`)
      await stop(live)

      const plain = kind.create(t)
      const options = { blocks: 5, markets: 2, points: 2, seed: 9 }
      const of2024 = [...generateBlocks(options)].at(-1)!.block.time
      const startSecond = FIRST_SECOND + Number((lastTime - of2024) / 1_000_000_000n)
      const records = [...generateBlocks(options, startSecond)].map((block) => block.records)
      await ingestBytes(t, plain, Buffer.concat(records))
      assert.deepEqual(await digestStore(store), await digestStore(plain))
    })
  }

  test('reports an address without a service, and an invalid address', async (t) => {
    const closed = await runLyra(t, ['generate', ...OPTIONS, '--dial', '127.0.0.1:9'])
    assert.equal(closed.code, 1)
    assert.equal(
      closed.stderr,
      'lyra: --dial 127.0.0.1:9: ECONNREFUSED; check that a service was started there with --listen and has no other core\n',
    )
    await assertFails(
      t,
      ['generate', ...OPTIONS, '--dial', '3005'],
      /--dial.*It must be an address and a port, such as 127\.0\.0\.1:3005/,
      2,
    )
  })

  test('ends with an error when the service stops', async (t) => {
    const folder = temporaryFolder(t)
    const { service, port } = await startDocumented(t, folder)
    const sender = startLyra(t, ['generate', '--blocks', '1000', '--dial', `127.0.0.1:${port}`])
    await service.printed(/core connected/)
    service.child.kill('SIGTERM')
    const { code, stderr } = await sender.outcome
    assert.equal(code, 1)
    assert.match(stderr, /^lyra: --dial 127\.0\.0\.1:\d+: [^\n]+; check that a service was started there/)
  })
})
