import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync } from 'node:fs'
import { createServer } from 'node:net'
import { basename, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { RESOURCES } from '#core/resources/resources'
import { printedByName } from '../fixtures/assert-property.ts'
import { ask } from '../fixtures/requests/raw-http.ts'
import { fileWith } from '../fixtures/stores/stores.ts'
import { until } from '../fixtures/until.ts'

const ROOT = join(import.meta.dirname, '../..')

const SUITE = `
import assert from 'node:assert/strict'
import { test } from 'node:test'
test('pages of one list', () => {})
test('pages of another list', () => {})
test('fails', () => assert.equal(1, 2, 'one is not two'))
test('waits', { timeout: 60_000 }, () => new Promise((resolve) => setTimeout(resolve, 50_000)))
`

/** Runs `npm test` on a file of {@link SUITE}. */
function runSuite(t: TestContext, args: string[]) {
  return runTests(t, [fileWith(t, SUITE, 'some.test.mjs'), ...args])
}

/** Runs `npm test`. */
function runTests(t: TestContext, args: string[]) {
  const { NODE_TEST_CONTEXT: _, LYRA_TEST_MADE: __, LYRA_TEST_POSTGRES: ___, ...env } = process.env
  const child = spawn(process.execPath, ['scripts/test.ts', ...args], {
    cwd: ROOT,
    env: { ...env, LYRA_TEST_STORE: 'sqlite' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  return child
}

describe('Runs of tests', () => {
  test('run the tests alone whose names match --only', async (t) => {
    const child = runSuite(t, ['--only', 'of (one|no) list'])
    const [output] = await Promise.all([text(child.stdout), once(child, 'exit')])
    assert.equal(child.exitCode, 0)
    assert.match(output, /✔ pages of one list/)
    assert.match(output, /^ℹ tests 1$/m)
    assert.match(output, /^ {2}the suites on PostgreSQL$/m)
  })

  test('find a file by its name, or by the path that it had in another folder', async (t) => {
    for (const named of ['duration', 'test/gone/duration.test.ts']) {
      const child = runTests(t, [named])
      const [output] = await Promise.all([text(child.stdout), once(child, 'exit')])
      assert.equal(child.exitCode, 0)
      assert.match(output, /✔ a duration is written/)
    }
  })

  test('can tell files by their names', () => {
    const names = globSync('test/**/*.test.ts', { cwd: ROOT }).map((path) => basename(path))
    assert.equal(new Set(names).size, names.length)
  })

  test('refuse a file that there is not', async (t) => {
    const child = runTests(t, ['duration', 'durations'])
    await once(child, 'exit')
    assert.equal(child.exitCode, 2)
  })

  test('print why a test failed while others still run', async (t) => {
    const child = runSuite(t, [])
    let output = ''
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk
    })
    await until(() => output.includes('FAILED'), 'the failure')
    assert.match(output, /FAILED .*some\.test\.mjs: fails\n.*one is not two/)
    assert.equal(child.exitCode, null, 'the last test still runs')
  })

  test('print a counterexample with a resource by its name, without its functions', () => {
    for (const resource of RESOURCES) {
      const printed = fc.stringify({ resource: printedByName(resource), size: 3 })
      assert.equal(printed, `{"resource":${resource.name},"size":3}`)
    }
  })

  test('say how long they have waited for an answer that did not come', async (t) => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1')
    t.after(() => silent.close())
    await once(silent, 'listening')
    const { port } = silent.address() as { port: number }
    await assert.rejects(
      ask(`http://127.0.0.1:${port}`, 'GET /ready'),
      /^Error: GET \/ready: no answer within 5 s$/,
    )
    const rude = createServer((socket) => socket.end('HTTP')).listen(0, '127.0.0.1')
    t.after(() => rude.close())
    await once(rude, 'listening')
    const { port: other } = rude.address() as { port: number }
    await assert.rejects(
      ask(`http://127.0.0.1:${other}`, 'GET /ready'),
      /GET \/ready: 0 answers came, and "HTTP"$/,
    )
  })
})
