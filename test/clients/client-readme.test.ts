import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { documentedPages, ROOT } from '../fixtures/documentation.ts'
import { temporaryFolder } from '../fixtures/stores/stores.ts'

/** The usual options of an application; optional properties may be undefined, as in this project. */
const OPTIONS = [
  '--noEmit',
  '--strict',
  '--target',
  'es2022',
  '--module',
  'nodenext',
  '--types',
  'node',
  '--lib',
  'es2024,dom,dom.iterable,dom.asynciterable',
  '--skipLibCheck',
  '--customConditions',
  'source',
  '--allowImportingTsExtensions',
  '--ignoreConfig',
]

/** Compiles only if the client's types on the page equal the real ones, method by method. */
const COMPARISON = `
import type * as client from 'lyra-client'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
/** Expands objects to their properties, so that intersections compare equal. */
type Flat<T> = T extends AbortSignal | Date | ((...given: never) => unknown)
  ? T
  : T extends object
    ? { [K in keyof T]: Flat<T[K]> }
    : T
type SameCall<A extends (...given: never) => unknown, B extends (...given: never) => unknown> = [
  Equal<Flat<Parameters<A>>, Flat<Parameters<B>>>,
  Equal<Flat<Awaited<ReturnType<A>>>, Flat<Awaited<ReturnType<B>>>>,
]

type NoneOf<Names> = [Names] extends [never] ? true : Names

export const lacked: NoneOf<Exclude<keyof client.LyraClient, keyof Lyra>> = true
export const unknown: NoneOf<Exclude<keyof Lyra, keyof client.LyraClient>> = true
export const calls: { [Name in keyof Lyra]: SameCall<Lyra[Name], client.LyraClient[Name]> } = null!
export const expected: { [Name in keyof Lyra]: [true, true] } = calls
export const create: Equal<Flat<Parameters<CreateLyraClient>>, Flat<Parameters<typeof client.createLyraClient>>> = true
export const made: Equal<Lyra['series'], 1> = false
`

/** A compiler's messages in a few lines: the methods and properties that differ, or the first errors. */
function faultsIn(output: string): string {
  const names = [...output.matchAll(/(?:types of property|property) '(\w+)'/gi)].map(([, name]) => name)
  const errors = output.split('\n').filter((line) => line.includes('error TS'))
  const shown = errors.slice(0, 3).map((line) => line.slice(0, 300))
  return [`differing or missing: ${[...new Set(names)].join(', ') || 'no method'}`, ...shown].join('\n')
}

function compile(folder: string, texts: readonly string[]) {
  const names = texts.map((text, index) => {
    writeFileSync(join(folder, `${index}.ts`), text)
    return `${index}.ts`
  })
  const tsc = join(ROOT, 'node_modules/.bin/tsc')
  const { status, stdout } = spawnSync(tsc, [...OPTIONS, ...names], { cwd: folder, encoding: 'utf8' })
  return { status, stdout }
}

/** The TypeScript that a page shows, as one program. */
function programOf(path: string): string {
  const page = documentedPages().find((page) => page.path === path)!
  const blocks = page.blocks.filter(({ language }) => language === 'ts')
  assert.ok(blocks.length > 0, path)
  return blocks.map(({ text }) => text).join('\n')
}

test('The documentation of the client shows programs that compile, and the signatures that the client has', (t) => {
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  const text = `${programOf('client/README.md')}\n${COMPARISON}`
  const { status, stdout } = compile(folder, [text, programOf('docs/recipes.md')])
  assert.ok(status === 0, faultsIn(stdout))

  // The comparison sees a wrong option, a missing method and a wrong row.
  const mistakes: [string, string][] = [
    ['pageSize?: number', 'pageSize?: string'],
    ['afterBlock?: string ', 'afterHeight?: string '],
    ['  health(options', '  healthy(options'],
    ['): Rows<Instrument>', '): Rows<Checkpoint>'],
    ['timeoutMs?: number', 'timeout?: number'],
  ]
  for (const [shown] of mistakes) assert.ok(text.includes(shown), shown)
  const mistaken = compile(
    folder,
    mistakes.map(([shown, mistake]) => text.replace(shown, mistake)),
  )
  for (const [index, [, mistake]] of mistakes.entries())
    assert.match(mistaken.stdout, new RegExp(`^${index}\\.ts\\(.*: error TS`, 'm'), mistake)
})
