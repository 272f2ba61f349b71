import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { test } from 'node:test'

const SRC = join(import.meta.dirname, '../src')

/** The folders of the program, from the lowest up: each imports only lower ones. Files next to them serve all. */
const ROOMS = [
  ...['domain', 'events', 'records', 'resources', 'funding', 'blocks', 'store', 'export', 'stream'],
  ...['ingest', 'generate', 'import', 'verify', 'api', 'status', 'compare', 'check', 'service', 'cli'],
]

/** The files that each file imports, for values or types, by path within src. */
const IMPORTS = new Map(
  readdirSync(SRC, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name): [string, string[]] => {
      const text = readFileSync(join(SRC, name), 'utf8')
      const found = text.matchAll(/(?:\bfrom\s+|\bimport\s*\(?\s*)'(\.[^']+)'/g)
      return [name, [...found].map(([, to]) => normalize(join(dirname(name), String(to))))]
    }),
)

/** An import cycle through a file; null if there is none. */
function cycleFrom(start: string): string[] | null {
  const seen = new Set<string>()
  const follow = (name: string, way: string[]): string[] | null => {
    for (const next of IMPORTS.get(name) ?? []) {
      if (next === start) return [...way, name, next]
      if (seen.has(next)) continue
      seen.add(next)
      const found = follow(next, [...way, name])
      if (found !== null) return found
    }
    return null
  }
  return follow(start, [])
}

test('No file imports itself through others, neither its values nor its types', () => {
  assert.ok(IMPORTS.size > 300)
  for (const name of IMPORTS.keys()) {
    const cycle = cycleFrom(name)
    assert.ok(cycle === null, cycle?.join(' > ') ?? '')
  }
})

test('Imports go from one folder of the program to a lower one', () => {
  const roomOf = (name: string) => (name.includes('/') ? name.slice(0, name.indexOf('/')) : null)
  const upward: string[] = []
  for (const [name, imports] of IMPORTS) {
    const from = roomOf(name)
    if (from !== null) assert.ok(ROOMS.includes(from), `this test does not list the folder src/${from}`)
    for (const other of imports) {
      const to = roomOf(other)
      if (to === null || to === from || name === 'main.ts') continue
      if (ROOMS.indexOf(to) > (from === null ? ROOMS.indexOf('domain') : ROOMS.indexOf(from))) {
        upward.push(`${name} imports ${other}`)
      }
    }
  }
  assert.deepEqual(upward, [])
})
