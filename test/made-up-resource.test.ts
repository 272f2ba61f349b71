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

/** Runs test files in a program that has the resource; those tests alone whose names a pattern matches. */
async function runSuites(
  files: string[],
  pattern: string | null,
  stores: string,
): Promise<{ output: string; passed: number }> {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const args = ['--test', '--test-reporter=tap', '--test-concurrency=2']
  if (pattern !== null) args.push(`--test-name-pattern=${pattern}`)
  const child = spawn(process.execPath, [...args, ...files.map((file) => join('test', file))], {
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
  return { output, passed: Number(/^# pass (\d+)/m.exec(output)?.[1]) }
}

const SUITES: [
  what: string,
  files: string[],
  pattern: string | null,
  tests: { once: number; byStore: number },
][] = [
  ['pages', ['paging.test.ts'], 'of trades|over trades|of every resource', { once: 1, byStore: 4 }],
  [
    'streams, exports, copies, OpenAPI and hostile requests',
    ['resources.test.ts'],
    'trades|have a case',
    // Copies go from each store to each.
    { once: 1, byStore: 5 + STORE_KINDS.length },
  ],
  [
    'cursors',
    ['cursors.test.ts', 'stream-cursors.test.ts'],
    'trades|begin with|of one resource',
    { once: 9, byStore: 0 },
  ],
  [
    'requests, schemas, tables of exports',
    ['page-request.test.ts', 'node-schemas.test.ts', 'export-tables.test.ts', 'tables.test.ts'],
    null,
    { once: 36, byStore: 2 },
  ],
  [
    'the OpenAPI document',
    ['openapi.test.ts'],
    'is valid OpenAPI|is whole|shows examples|schemas of parameters',
    { once: 4, byStore: 0 },
  ],
  [
    'exports of all markets, and into a folder',
    ['full-exports.test.ts', 'export-folder.test.ts'],
    'trades|bound to a market|as one made at once',
    { once: 1, byStore: 3 },
  ],
  ['the way from the wire', ['fixtures/trades/wire.test.ts'], null, { once: 0, byStore: 2 }],
  ['a question', ['fixtures/trades/question.test.ts'], null, { once: 2, byStore: 1 }],
  [
    'check, and pruning',
    ['check-prune-backup.test.ts'],
    'whatever events there are',
    { once: 0, byStore: 1 },
  ],
]

const MADE_BY_STORES = new Set([
  'the way from the wire',
  'a question',
  'pages',
  'streams, exports, copies, OpenAPI and hostile requests',
])

describe('a resource that only the tests know passes the suites of all resources', () => {
  for (const [what, files, pattern, tests] of SUITES) {
    test(what, async () => {
      // Pages, streams and copies on each store; what is made from these on one, unless the full numbers are asked for.
      const kinds = MADE_BY_STORES.has(what) ? STORE_KINDS : ANY_STORE_KIND
      const stores = kinds.length > 1 ? 'all' : kinds[0]!.name
      const { output, passed } = await runSuites(files, pattern, stores)
      assert.ok(
        passed >= tests.once + tests.byStore * kinds.length,
        `${passed} tests:\n${output.slice(-5_000)}`,
      )
    })
  }
})
