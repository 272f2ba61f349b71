import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { ANY_STORE_KIND, STORE_KINDS } from './fixtures/stores.ts'

/*
 * That a further resource is one description, one table and one projection is tried here: the suites of all resources
 * run once more in a program that has a made-up one, which test/fixtures/trades/ describes and puts into its lists. The
 * same program has a made-up question, in one file.
 */

const ROOT = join(import.meta.dirname, '..')
const REGISTER = new URL('./fixtures/trades/register.ts', import.meta.url)

/** Runs those tests of a file whose names hold one of some texts, in a program that has the resource; returns its TAP. */
async function runSuite(file: string, names: readonly string[], stores: string): Promise<string> {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const args = ['--test', '--test-reporter=tap', `--test-name-pattern=${names.join('|')}`]
  const child = spawn(process.execPath, [...args, join('test', file)], {
    cwd: ROOT,
    env: {
      ...env,
      LYRA_TEST_STORE: stores,
      NODE_OPTIONS: `${env.NODE_OPTIONS ?? ''} --import=${REGISTER.href}`,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  const [code] = (await once(child, 'close')) as [number]
  assert.equal(code, 0, output.slice(-20_000))
  return output
}

/** Files, and what names their tests of the resource: of each name a test must have passed. */
const ON_EVERY_STORE: [file: string, names: string[]][] = [
  ['paging.test.ts', ['pages of trades', 'over trades', 'of every resource']],
  [
    'resources.test.ts',
    [
      'have a case',
      ...['the stream of trades', 'exports of trades', 'holds trades', 'old rows of trades'],
      ...['says what pages of trades are', 'requests for trades'],
    ],
  ],
  ['fixtures/trades/wire.test.ts', ['trades come from the wire', 'to lack trades']],
  ['fixtures/trades/question.test.ts', ['is answered over HTTP', 'is known to', 'is a method']],
]

/** Suites of what is made from these on one store, unless the full numbers are asked for. */
const ON_ANY_STORE: typeof ON_EVERY_STORE = [
  ['cursors.test.ts', ['cursors of trades', 'begin with a letter']],
  ['stream-cursors.test.ts', ['is of one resource']],
  ['node-schemas.test.ts', ['for every list', 'trades: allows']],
  [
    'export-tables.test.ts',
    ['for every resource', 'trades: has a column', 'trades: is CSV', 'trades: is ndjson'],
  ],
  ['tables.test.ts', ['are those that are described', 'are described']],
  ['openapi.test.ts', ['is valid OpenAPI', 'is whole', 'shows examples', 'schemas of parameters']],
  ['full-exports.test.ts', ['hold all trades', 'bound to a market']],
  ['export-folder.test.ts', ['as one made at once']],
  ['check-prune-backup.test.ts', ['whatever events there are']],
]

describe('a resource that only the tests know passes the suites of all resources', () => {
  for (const [file, names] of [...ON_EVERY_STORE, ...ON_ANY_STORE]) {
    test(file, async () => {
      const kinds = ON_EVERY_STORE.some(([other]) => other === file) ? STORE_KINDS : ANY_STORE_KIND
      const output = await runSuite(file, names, kinds.length > 1 ? 'all' : kinds[0]!.name)
      const passed = [...output.matchAll(/^ *ok \d+ - (?!.*# SKIP)(.*)$/gm)].map(([, name]) => name!)
      for (const name of names)
        assert.ok(
          passed.some((one) => one.includes(name)),
          `${name}:\n${output}`,
        )
    })
  }
})
