import assert from 'node:assert/strict'
import { cpSync, renameSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { assertSays } from '../../fixtures/assert-says.ts'
import { send, statusOf } from '../../fixtures/requests/http.ts'
import { addressOf, end, startProgram } from '../../fixtures/services/program.ts'
import { serve, storeOf } from '../../fixtures/services/service.ts'
import { MARKET, SAMPLE } from '../../fixtures/shared.ts'
import { STORE_KINDS, temporaryFolder } from '../../fixtures/stores/stores.ts'
import { until } from '../../fixtures/until.ts'

const ROOT = join(import.meta.dirname, '../../..')

/** A request of each kind, with different threads to answer it. */
const TARGETS = [
  '/api/v2/checkpoints?pagination.first=2',
  `/api/v2/funding-periods/data-points/${MARKET}?pagination.first=5000`,
  '/api/v2/market-summaries',
  '/api/v2/coverage',
  `/api/v2/series/${MARKET}`,
  '/api/v2/export/checkpoints?format=csv',
  '/openapi.json',
  '/metrics',
  '/docs',
  '/nothing',
]

for (const kind of STORE_KINDS) {
  test(`a service that is ready no longer needs its files (${kind.name})`, async (t) => {
    const store = await storeOf(t, kind, SAMPLE)
    const expected = new Map<string, number>()
    const base = await serve(t, store, { inThreads: true })
    for (const target of TARGETS) expected.set(target, await statusOf(base, target))

    const program = join(temporaryFolder(t), 'program')
    for (const name of ['bin', 'src', 'client/dist', 'proto', 'package.json']) {
      cpSync(join(ROOT, name), join(program, name), { recursive: true })
    }
    symlinkSync(join(ROOT, 'node_modules'), join(program, 'node_modules'))
    const eventLog = join(temporaryFolder(t), 'log')
    const service = startProgram(
      t,
      process.execPath,
      [
        join(program, 'bin/lyra.js'),
        'serve',
        '--port',
        '0',
        '--store',
        store,
        '--max-behind',
        '0',
        '--listen',
        '127.0.0.1:0',
        '--event-log',
        eventLog,
        '--keep',
        '9999d',
        '--grpc',
        '127.0.0.1:0',
      ],
      { env: { NODE_PRESERVE_SYMLINKS: '1' } },
    )
    const moved = await addressOf(service)
    await until(async () => (await statusOf(moved, '/ready')) === 200, 'the service is ready')
    renameSync(program, `${program}-replaced`)
    for (const [target, status] of expected) {
      const answer = await send(moved, target)
      if (target !== '/docs') assert.equal(answer.status, status, `${target}: ${answer.text}`)
    }
    const stream = await fetch(`${moved}/api/v2/stream/checkpoints`)
    const reader = stream.body!.getReader()
    assert.match(Buffer.from((await reader.read()).value!).toString(), /^retry/)
    const ended = await Promise.race([reader.closed.then(() => true), sleep(300).then(() => false)])
    assert.equal(ended, false)
    await reader.cancel()
    assert.equal(await statusOf(moved, '/ready'), 200)
    await end(service)
    assert.doesNotMatch(service.output.stderr, /Cannot find (module|package)/)
  })
}

test('a service of which a thread does not run is not ready', async (t) => {
  const store = await storeOf(t, STORE_KINDS[0]!, SAMPLE)
  const ingestion = { failure: null, live: null, maxBehindSeconds: null, threadsRun: () => false }
  const answer = await send(await serve(t, store, { ingestion }), '/ready')
  assert.equal(answer.status, 503)
  assertSays(answer.text, 'thread stopped')
})
