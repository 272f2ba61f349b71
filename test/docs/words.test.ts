import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ROOT } from '../fixtures/documentation.ts'
import { codeOf } from './source-code.ts'

/*
 * One word for one thing: the table of words in docs/architecture.md. These words have stood for several things, and are in
 * no declared name.
 */
const NEVER =
  /(?<![a-z])(?:kept|lacks?|lacking|holes?|unfinished|seats?|lanes?|makers?|making|news|arrivals?)(?![a-z])/i

/** Words of a name that only look like one of these. */
const LOOKS_ALIKE = /whole/i

const DECLARED =
  /\b(?:const|let|var|function\*?|class|type|interface)\s+(\w+)|^\s*(?:static |readonly |async |get |set |#)*(\w+)\??(?=\(.*\)(?:: .*)? \{$|: .*$)/gm

/** The names that a text of TypeScript declares, without a name that is quoted or of a column. */
function declaredNames(code: string): string[] {
  return [...code.matchAll(DECLARED)].map(([, declared, member]) => (declared ?? member)!)
}

const isWord = (name: string) =>
  !LOOKS_ALIKE.test(name) && NEVER.test(name.replace(/([a-z0-9])([A-Z])/g, '$1_$2').replaceAll('_', ' '))

/** Public names: of the answer of /coverage and the column that it is read from, and of the report of `lyra ingest`. */
const PUBLIC = ['lacks', 'unfinishedBlocks']

const FILES = globSync(['{src,bench,scripts,test,client/src}/**/*.ts', 'web/{src,reference}/**/*.{ts,tsx}'], {
  cwd: ROOT,
})

test('Words that have meant several things are in no declared name', () => {
  const found = FILES.flatMap((file) =>
    declaredNames(codeOf(file))
      .filter((name) => isWord(name) && !PUBLIC.includes(name))
      .map((name) => `${file}: ${name}`),
  )
  assert.deepEqual(found, [])
})

/** In a comment, a name in backquotes and then, in brackets, the file that is said to declare it. */
const PLACED = /`(\w+)` \(([\w./-]+\.ts)\)/g

test('Comments that say in which file something is, are right', () => {
  const texts = new Map(FILES.map((file) => [file, readFileSync(join(ROOT, file), 'utf8')]))
  const wrong: string[] = []
  for (const [file, text] of texts)
    for (const [placed, name, path] of text.replaceAll(/\n\s*\*\s?/g, ' ').matchAll(PLACED)) {
      const candidates = [...texts.keys()].filter((other) =>
        other.endsWith(`/${path!.replace(/^(?:\.\.?\/)+/, '')}`),
      )
      const declares = new RegExp(
        `(?:function\\*?|const|class|type) ${name}\\b|^  (?:async )?${name}\\(`,
        'm',
      )
      if (!candidates.some((other) => declares.test(texts.get(other)!))) wrong.push(`${file}: ${placed}`)
    }
  assert.deepEqual(wrong, [])
})
