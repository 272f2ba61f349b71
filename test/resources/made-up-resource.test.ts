import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { ANY_STORE_KIND, STORE_KINDS } from '../fixtures/stores/stores.ts'

/*
 * Proves that a new resource needs only one description, one table and one projection: the suites of all resources
 * run again in a program with the example resource of test/fixtures/examples/. The program also has an example
 * question, in one file.
 */

const ROOT = join(import.meta.dirname, '../..')
const REGISTER = new URL('../fixtures/examples/register.ts', import.meta.url)

/** Files, and patterns of the names of their tests of the resource: for each a test must pass. */
type Suites = [file: string, names: string[]][]

/** Runs these tests in one program with the resource; returns those that passed, and where each is defined. */
async function passedOf(suites: Suites, stores: string): Promise<{ name: string; file: string }[]> {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const names = suites.flatMap(([, names]) => names)
  const child = spawn(
    process.execPath,
    [
      '--test',
      '--test-isolation=none',
      '--test-reporter=junit',
      `--test-name-pattern=${names.join('|')}`,
      ...suites.map(([file]) => join('test', file)),
    ],
    {
      cwd: ROOT,
      env: {
        ...env,
        LYRA_TEST_STORE: stores,
        // The stores of recordings there have no table of the resource.
        LYRA_TEST_MADE: undefined,
        NODE_OPTIONS: `${env.NODE_OPTIONS ?? ''} --import=${REGISTER.href}`,
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  const [code] = (await once(child, 'close')) as [number]
  assert.equal(code, 0, output.slice(-20_000))
  // An element with contents is of a test that was skipped.
  const cases = output.matchAll(/<testcase name="(.*)" time=".*" classname="(.*)" file="(.*)"\/>/g)
  return [...cases].map(([, name, suite, file]) => ({ name: `${suite} ${name}`, file: file! }))
}

const ON_EVERY_STORE: Suites = [
  ['service/answers/paging.test.ts', ['pages of examples', 'through examples', 'of every resource']],
  [
    'resources/resources.test.ts',
    [
      'the stream of examples',
      'exports of examples',
      'contains examples',
      'old rows of examples',
      'describes pages of examples',
    ],
  ],
  ['fixtures/examples/wire.test.ts', ['examples get from the wire', 'examples from its next block on']],
  ['store/reading/plans.test.ts', ['every page is an index scan']],
  ['fixtures/examples/filters.test.ts', ['restrict pages, streams', 'are required by each']],
  ['fixtures/examples/question.test.ts', ['is answered over HTTP', 'is known to', 'is a method']],
]

/** Suites that run on one kind of store, unless the full numbers are requested. */
const ON_ANY_STORE: Suites = [
  ['resources/cursors.test.ts', ['cursors of examples', 'begin with their own letter']],
  ['streams/stream-cursors.test.ts', ['belongs to one resource']],
  ['service/openapi/node-schemas.test.ts', ['for every list', 'examples: allows']],
  ['exports/export-tables.test.ts', ['for every resource', 'examples: has a column', 'examples: is CSV']],
  ['store/schema/tables.test.ts', ['match their descriptions', 'are described']],
  ['service/openapi/openapi.test.ts', ['is valid OpenAPI', 'shows examples', 'schemas of .*example']],
  ['exports/full-exports.test.ts', ['contain all examples', 'bound to a market']],
  [
    'service/answers/wrong-values.test.ts',
    ['v2/examples', 'stream/examples', 'export/examples', '/example-volume'],
  ],
  ['tools/check-prune-backup.test.ts', ['in a store of random events']],
]

describe('a resource that only tests add passes the suites of all resources', () => {
  for (const [where, suites, kinds] of [
    ['on every store', ON_EVERY_STORE, STORE_KINDS],
    ['on any store', ON_ANY_STORE, ANY_STORE_KIND],
  ] as const) {
    test(where, async () => {
      const passed = await passedOf(suites, kinds.length > 1 ? 'all' : kinds[0]!.name)
      for (const [file, names] of suites) {
        // Tests that several files have are defined in a fixture.
        const own = passed.filter(
          (one) => one.file.endsWith(`/test/${file}`) || !/\.test\.ts$/.test(one.file),
        )
        for (const name of names)
          assert.ok(
            own.some((one) => new RegExp(name).test(one.name)),
            `${file}: no test of ${name} passed`,
          )
      }
    })
  }
})
