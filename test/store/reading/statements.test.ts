import assert from 'node:assert/strict'
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { keyOf } from '#core/model/resource'
import { pageScans } from '#core/store/pages/scan'
import { columnsStatement, isReadAsColumns, rowsStatement } from '#core/store/postgres/pages/page-statements'
import type { Statement } from '#core/store/queries-protocol'
import { edgesStatement } from '#core/store/sqlite/page-statements'
import { RESOURCE_ROWS } from '../../fixtures/resources/resource-rows.ts'

/*
 * The SQL of one page of each resource on each engine is in test/store/reading/statements for review: 100 rows after a
 * cursor, newest first. LYRA_WRITE_STATEMENTS=1 rewrites the files.
 */

const FOLDER = join(import.meta.dirname, 'statements')
const LIMIT = 100

/** A statement with one clause a line, and its values. */
function sqlOf({ text, values }: Statement): string {
  const lines = text
    .replaceAll(/ (from|where|order by|union all|cross join|left join|limit|select) /g, '\n$1 ')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  return `${lines.join('\n')}\n\n-- values: ${values.join(', ')}\n`
}

for (const { resource, selection, rows } of RESOURCE_ROWS) {
  const market = resource.storage.marketColumn === 'market' ? 1n : null
  const query = { resource, selection, descending: true, cursor: keyOf(resource, rows[0]!), limit: LIMIT }
  const scans = pageScans(query, null, market)
  const ofPostgres = isReadAsColumns(resource, false) ? columnsStatement : rowsStatement
  const statements: Record<string, Statement> = {
    sqlite: edgesStatement(scans.page, LIMIT + 1, false),
    postgres: ofPostgres(scans, { limit: LIMIT + 1, withState: true }),
  }
  for (const [engine, statement] of Object.entries(statements)) {
    const file = join(FOLDER, `${resource.kebabName}.${engine}.sql`)
    test(`a page of ${resource.kebabName} is read from ${engine} by the committed statement`, () => {
      if (process.env.LYRA_WRITE_STATEMENTS === '1') {
        mkdirSync(FOLDER, { recursive: true })
        writeFileSync(file, sqlOf(statement))
      }
      const isKnown = existsSync(file)
      assert.ok(isKnown, `${file} is missing: run this test with LYRA_WRITE_STATEMENTS=1, and review it`)
      assert.equal(sqlOf(statement), readFileSync(file, 'utf8'))
    })
  }
}

const SELECTS =
  /\bselect ((?:(?!\bselect\b|\border by\b)[^;])*?)\bfrom\b((?:(?!\bselect\b)[^;])*?\border by [^`;]*)/g

test('No statement sorts by a column whose name an output has that is a text: it would sort the texts', () => {
  const src = join(import.meta.dirname, '../../../src')
  let sorted = 0
  for (const path of globSync('**/store/**/*.ts', { cwd: src })) {
    for (const [select, outputs, rest] of readFileSync(join(src, path), 'utf8').matchAll(SELECTS)) {
      const texts = [...outputs!.matchAll(/cast\((?:\w+\.)?(\w+) as text\)(?! as)/g)].map(([, name]) => name)
      const keys: string[] = rest!.slice(rest!.lastIndexOf('order by')).match(/\w+/g) ?? []
      assert.equal(
        texts.find((name) => keys.includes(name!)),
        undefined,
        `${path}: ${select}`,
      )
      sorted++
    }
  }
  assert.ok(sorted > 20, String(sorted))
})
