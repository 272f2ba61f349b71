import assert from 'node:assert/strict'
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { describe, test } from 'node:test'
import { brokenLinks, inlineCode, ROOT } from '../fixtures/documentation.ts'
import { codeOf, declares, hasName } from './source-code.ts'

const MOST_LINES = 15

/** A sign: the README.md of a folder of `src`. */
type Sign = { folder: string; path: string; text: string }

/** The folders within one, by path within the checkout. */
const foldersIn = (folder: string) =>
  readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length + 1))

/** The folders of the explorer, and of the API reference: all but one have the sign of the folder above. */
const WEB_FOLDERS = [...foldersIn('web/src'), 'web/reference']

/** The folders that have a sign: those of single resources share one, and so do most of the explorer. */
const FOLDERS = [
  ...foldersIn('src').filter((folder) => !/^src\/core\/resources\//.test(folder)),
  'web',
  'web/src/funding',
  'web/src/parts',
  'web/src/providers',
  'web/src/service',
].sort()

const FOLDER_NAMES = new Set(
  [...FOLDERS, ...WEB_FOLDERS, 'src/core/resources/checkpoints'].map((folder) => basename(folder)),
)

const SIGNS = FOLDERS.filter((folder) => existsSync(join(ROOT, folder, 'README.md'))).map(signOf)

function signOf(folder: string): Sign {
  const path = `${folder}/README.md`
  return { folder, path, text: readFileSync(join(ROOT, path), 'utf8').trimEnd() }
}

/** The names in a sign that are of no file, no folder of the program or the explorer, and nothing in the code of the sign's folder or of a linked file. */
function unknownNames({ folder, path, text }: Sign): string[] {
  const linked = [...text.matchAll(/\]\(([^)]+\.tsx?)\)/g)].map(([, to]) => join(folder, to!))
  const own = globSync('**/*.{ts,tsx}', { cwd: join(ROOT, folder), exclude: ['node_modules'] }).map((name) =>
    join(folder, name),
  )
  const codes = [...own, ...linked].map(codeOf)
  const isFile = (name: string) =>
    existsSync(join(ROOT, folder, name)) || linked.some((file) => basename(file) === name)
  return inlineCode({ path, text, blocks: [] }).filter((name) => {
    if (/[/]|\.tsx?$/.test(name)) return !isFile(name)
    if (FOLDER_NAMES.has(name)) return false
    return !codes.some((code) => (name.includes('.') ? declares(code, name) : hasName(code, name)))
  })
}

describe('The folders of src, and web', () => {
  test('have a sign each', () => {
    assert.deepEqual(
      SIGNS.map(({ folder }) => folder),
      FOLDERS,
    )
    const others = globSync(['src/**/README.md', 'web/README.md', 'web/src/**/README.md'], { cwd: ROOT })
    assert.deepEqual(others.map(dirname).sort(), FOLDERS)
  })

  test('of the explorer, and the API reference, are named by the next sign above them', () => {
    const unnamed = WEB_FOLDERS.filter((folder) => {
      const above = SIGNS.filter((sign) => folder.startsWith(`${sign.folder}/`)).at(-1)!
      return !above.text.includes(`\`${basename(folder)}\``)
    })
    assert.deepEqual(unnamed, [])
  })

  for (const sign of SIGNS) {
    test(`${sign.path} is short, names a file to read first, and only what there is`, () => {
      assert.ok(sign.text.split('\n').length <= MOST_LINES, `more than ${MOST_LINES} lines`)
      assert.match(sign.text, /^# .+\n\n/)
      assert.match(sign.text, /\bRead \[`[^`]+`\]\([^)]+\)/)
      assert.deepEqual(brokenLinks([{ ...sign, blocks: [] }]), [])
      assert.deepEqual(unknownNames(sign), [])
    })
  }

  test('would not do with a sign that names what is gone', () => {
    const sign = { folder: 'src/core/records', path: 'src/core/records/README.md' }
    const text =
      'Calls `RecordSink`, `RecordSinks`, `RecordFramer.push`, `RecordFramer.pull` in `record-framer.ts` or `framer.ts`.'
    assert.deepEqual(unknownNames({ ...sign, text }), ['RecordSinks', 'RecordFramer.pull', 'framer.ts'])
  })
})

/** Shelves of tests that have shelves of their own. */
const TEST_SHELVES = ['test/service', 'test/store']

describe('The signs of shelves of tests', () => {
  for (const sign of ['test', 'test/fixtures', ...TEST_SHELVES].map(signOf)) {
    test(`${sign.path} names every shelf, and links to files that there are`, () => {
      const shelves = readdirSync(join(ROOT, sign.folder), { withFileTypes: true })
        .filter((entry) => entry.isDirectory())
        .map(({ name }) => name)
      assert.deepEqual(
        shelves.filter((name) => !sign.text.includes(`\`${name}\``)),
        [],
      )
      assert.deepEqual(brokenLinks([{ ...sign, blocks: [] }]), [])
    })
  }

  for (const sign of TEST_SHELVES.map(signOf)) {
    test(`${sign.path} names suites on the shelf on which they are`, () => {
      const rows = [...sign.text.matchAll(/^\| `(\w+)` \|.*\| (.+) \|$/gm)]
      const missing = rows.flatMap(([, shelf, suites]) =>
        suites!
          .split(', ')
          .map((suite) => `${shelf}/${suite.replaceAll('`', '')}.test.ts`)
          .filter((file) => !existsSync(join(ROOT, sign.folder, file))),
      )
      assert.ok(rows.length > 3)
      assert.deepEqual(missing, [])
    })
  }
})
