import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdirSync, readFileSync, renameSync, rmdirSync } from 'node:fs'
import { Agent } from 'node:http'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { send } from './fixtures/http.ts'
import { end, type RunningProgram, runLyra, startService } from './fixtures/program.ts'
import { HEIGHT, POINTS } from './fixtures/sample.ts'
import { ingestWhole, serve, storeOf } from './fixtures/service.ts'
import { SAMPLE } from './fixtures/shared.ts'
import { STORE_KINDS, temporaryFolder } from './fixtures/stores.ts'
import { until } from './fixtures/until.ts'

async function startWorkers(t: TestContext, store: string, args: string[] = []) {
  const { service: program, base } = await startService(t, ['--workers', '2', '--store', store, ...args])
  return { program, base: base }
}

/** Sends each request on a new connection: these go to the processes in turn. */
function ask(base: string, target: string) {
  return send(base, target, { agent: new Agent({ keepAlive: false }) })
}

/** The ids of a service's child processes. */
function workerIds(program: RunningProgram): number[] {
  const { pid } = program.child
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number)
}

for (const kind of STORE_KINDS) {
  test(`several processes answer like one (${kind.name})`, async (t) => {
    const store = kind.create(t)
    const { program, base } = await startWorkers(t, store, [SAMPLE])
    await program.printed(/ingestion ended/)
    const plain = await serve(t, store)
    const expected = (await send(plain, POINTS)).text
    for (let count = 0; count < 20; count++) {
      const answer = await ask(base, POINTS)
      assert.equal(answer.text, expected)
      assert.equal(answer.headers['x-block-height'], HEIGHT)
    }
    assert.equal((await ask(base, '/ready')).status, 200)
    // Whichever process answers, the metrics are those of all.
    const metrics = (await ask(base, '/metrics')).text
    const answered = [
      ...metrics.matchAll(/^lyra_http_request_duration_seconds_count\{.*status="200".*\} (\d+)/gm),
    ]
    assert.ok(answered.reduce((sum, [, count]) => sum + Number(count), 0) >= 20, metrics)
    assert.match(metrics, new RegExp(`^lyra_block_height ${HEIGHT}$`, 'm'))
    assert.match(metrics, /^lyra_records_total 7881$/m)
    await end(program)
  })
}

test('every process knows why the ingestion stopped', async (t) => {
  const store = await storeOf(t, STORE_KINDS[0]!, SAMPLE)
  const { program, base } = await startWorkers(t, store, [
    '--listen',
    '127.0.0.1:0',
    '--buffer',
    `${store}.buffer`,
  ])
  await program.printed(/waiting for a core/)
  await sleep(1_200)
  for (let count = 0; count < 4; count++) {
    const { status, text } = await ask(base, '/ready')
    assert.equal(status, 503)
    assert.match(text, /behind by/)
  }
})

test('a process that is killed is replaced, while the others answer', async (t) => {
  if (process.platform !== 'linux') return t.skip('processes are found by /proc')
  const store = await storeOf(t, STORE_KINDS[0]!, SAMPLE)
  const { program, base } = await startWorkers(t, store)
  const before = workerIds(program)
  assert.equal(before.length, 2)
  process.kill(before[0]!, 'SIGKILL')
  await program.printed(/worker \d+ ended \(SIGKILL\)/)
  assert.equal((await ask(base, POINTS)).status, 200)
  await until(() => workerIds(program).length >= 2, 'another one')
  for (let count = 0; count < 6; count++) assert.equal((await ask(base, POINTS)).status, 200)
  await end(program)
})

test('a process that cannot be replaced at once is replaced once it can be', async (t) => {
  if (process.platform !== 'linux') return t.skip('processes are found by /proc')
  const store = join(temporaryFolder(t), 'lyra.db')
  await ingestWhole(store, SAMPLE)
  const { program, base } = await startWorkers(t, store)
  const before = workerIds(program)
  renameSync(store, `${store}.away`)
  mkdirSync(store)
  process.kill(before[0]!, 'SIGKILL')
  // A process without a store is ended.
  await program.printed(/no new worker: .*is a directory[\s\S]*worker \d+ ended \(0\)/)
  rmdirSync(store)
  renameSync(`${store}.away`, store)
  const failures = () => program.output.stderr.match(/no new worker/g)!.length
  for (let waited = 0, seen = failures(); waited < 2_500; waited += 100) {
    // The first process after the last failure stays.
    if (failures() !== seen) waited = 0
    seen = failures()
    await sleep(100)
  }
  await until(() => workerIds(program).length === 2, 'two again')
  for (let count = 0; count < 6; count++) assert.equal((await ask(base, POINTS)).status, 200)
})

test('the processes end with their parent', async (t) => {
  if (process.platform !== 'linux') return t.skip('processes are found by /proc')
  const store = await storeOf(t, STORE_KINDS[0]!, SAMPLE)
  const { program } = await startWorkers(t, store)
  const ids = workerIds(program)
  program.child.kill('SIGKILL')
  await program.outcome
  for (const id of ids) {
    await until(() => !isAlive(id), `process ${id} has ended`)
  }
})

test('a failure to start processes is reported in one line', async (t) => {
  const store = await storeOf(t, STORE_KINDS[0]!, SAMPLE)
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  t.after(() => taken.close())
  const { port } = taken.address() as { port: number }
  const { code, stderr } = await runLyra(t, [
    ...['serve', '--workers', '2', '--store', store, '--port', String(port)],
  ])
  assert.equal(code, 1)
  assert.match(stderr, /^lyra: 127\.0\.0\.1:\d+: the port is in use[^\n]+\n$/)
})

function isAlive(id: number): boolean {
  try {
    process.kill(id, 0)
    return true
  } catch {
    return false
  }
}
