import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { ANY_STORE_KIND, STORE_KINDS } from './fixtures/stores.ts'

/*
 * Proves that a new resource needs only one description, one table and one projection: the suites of all resources
 * run again in a program with the example resource of test/fixtures/examples/. The program also has an example
 * question, in one file.
 */

const ROOT = join(import.meta.dirname, '..')
const REGISTER = new URL('./fixtures/examples/register.ts', import.meta.url)

/** Runs the tests of a file whose names match one of `names`, in a program with the resource; returns TAP. */
async function runSuite(file: string, names: readonly string[], stores: string): Promise<string> {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const args = ['--test-reporter=tap', `--test-name-pattern=${names.join('|')}`]
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

/** Files, and patterns of the names of their tests of the resource: for each a test must have passed. */
const ON_EVERY_STORE: [file: string, names: string[]][] = [
  ['paging.test.ts', ['pages of examples', 'through examples', 'of every resource']],
  [
    'resources.test.ts',
    [
      'have a case',
      ...['the stream of examples', 'exports of examples', 'contains examples', 'old rows of examples'],
      'describes pages of examples',
    ],
  ],
  ['fixtures/examples/wire.test.ts', ['examples get from the wire', 'examples from its next block on']],
  ['plans.test.ts', ['every page is an index scan']],
  ['fixtures/examples/filters.test.ts', ['restrict pages, streams', 'are required by each']],
  ['fixtures/examples/question.test.ts', ['is answered over HTTP', 'is known to', 'is a method']],
]

/** Suites that run on one kind of store, unless the full numbers are requested. */
const ON_ANY_STORE: typeof ON_EVERY_STORE = [
  ['cursors.test.ts', ['cursors of examples', 'begin with their own letter']],
  ['stream-cursors.test.ts', ['belongs to one resource']],
  ['node-schemas.test.ts', ['for every list', 'examples: allows']],
  [
    'export-tables.test.ts',
    ['for every resource', 'examples: has a column', 'examples: is CSV', 'examples: is ndjson'],
  ],
  ['tables.test.ts', ['match their descriptions', 'are described']],
  ['openapi.test.ts', ['is valid OpenAPI', 'is whole', 'shows examples', 'schemas of .*example']],
  ['full-exports.test.ts', ['contain all examples', 'bound to a market']],
  ['wrong-values.test.ts', ['v2/examples', 'stream/examples', 'export/examples', '/example-volume']],
  ['check-prune-backup.test.ts', ['in a store of random events']],
]

describe('a resource that only tests add passes the suites of all resources', () => {
  for (const [file, names] of [...ON_EVERY_STORE, ...ON_ANY_STORE]) {
    test(file, async () => {
      const kinds = ON_EVERY_STORE.some(([other]) => other === file) ? STORE_KINDS : ANY_STORE_KIND
      const output = await runSuite(file, names, kinds.length > 1 ? 'all' : kinds[0]!.name)
      const passed = [...output.matchAll(/^ *ok \d+ - (?!.*# SKIP)(.*)$/gm)].map(([, name]) => name!)
      for (const name of names)
        assert.ok(
          passed.some((one) => new RegExp(name).test(one)),
          `${name}:\n${output}`,
        )
    })
  }
})
