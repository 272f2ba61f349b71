import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { VIEWS } from '#core/store/views/views'
import { documentedPages } from '../../fixtures/documentation.ts'
import { ended, runWell, startProgram } from '../../fixtures/services/program.ts'
import { storeOf } from '../../fixtures/services/service.ts'
import { MONTH, skip } from '../../fixtures/shared.ts'
import {
  describeOn,
  fileWith,
  runSql,
  STORE_KINDS,
  sqlite,
  temporaryFolder,
} from '../../fixtures/stores/stores.ts'
import { queryStore } from '../../fixtures/stores/view-rows.ts'

const NAMES = VIEWS.map(({ name }) => name)

const sorted = (rows: readonly unknown[]) => rows.map((row) => JSON.stringify(row)).sort()

const DUCKDB_PYTHON = process.env.LYRA_DUCKDB_PYTHON ?? 'python3'

type DuckDbResult = { columns: [name: string, type: string][]; rows: (string | null)[][] }

/** Runs statements with DuckDB 1.5; null, and the test is skipped, if it or its extensions are not installed. */
async function runDuckDb(t: TestContext, statements: readonly string[]): Promise<DuckDbResult[] | null> {
  const modules = 'duckdb, duckdb_extension_sqlite_scanner, duckdb_extension_postgres_scanner'
  if (spawnSync(DUCKDB_PYTHON, ['-c', `import ${modules}`]).status !== 0) {
    skip(t, `one of ${modules} is not installed; LYRA_DUCKDB_PYTHON may name a Python that has them`)
    return null
  }
  const program = join(import.meta.dirname, '../../clients/run_duckdb.py')
  const file = fileWith(t, JSON.stringify(statements), 'statements.json')
  const { code, stdout, stderr } = await ended(startProgram(t, DUCKDB_PYTHON, [program, file]))
  assert.equal(code, 0, stderr)
  return JSON.parse(stdout)
}

/** What DuckDB calls a type that it reads from PostgreSQL. From views of SQLite it reads texts. */
const DUCKDB_TYPES = {
  text: 'VARCHAR',
  integer: 'BIGINT',
  number: 'DOUBLE',
  boolean: 'BOOLEAN',
  time: 'TIMESTAMP WITH TIME ZONE',
}

/** The statement that attaches a store as `lyra`, and the name before its views. */
function attached(store: string): { attach: string; prefix: string } {
  if (!store.startsWith('postgres:'))
    return { attach: `attach '${store}' as lyra (type sqlite, read_only)`, prefix: 'lyra' }
  const url = new URL(store)
  const schema = url.searchParams.get('schema')!
  url.search = ''
  return { attach: `attach '${url}' as lyra (type postgres, read_only)`, prefix: `lyra.${schema}` }
}

describeOn(STORE_KINDS, 'DuckDB', (kind) => {
  test('lists the views, and reads the rows of each', async (t) => {
    const store = await storeOf(t, kind, MONTH)
    await runSql(store, `insert into gaps (from_height, to_height, kind) values (5000, 5001, 'missing')`)
    const { attach, prefix } = attached(store)
    const results = await runDuckDb(t, [
      attach,
      `select view_name from duckdb_views() where database_name = 'lyra' and view_name like 'v\\_%' escape '\\'`,
      ...NAMES.map((name) => `from ${prefix}.${name}`),
    ])
    if (results === null) return
    const [, listed, ...found] = results
    // PostgreSQL's views are tables to it.
    const names = kind.name === 'sqlite' ? NAMES.toSorted() : []
    assert.deepEqual(listed!.rows.flat().sort(), names)
    for (const [at, { name, columns }] of VIEWS.entries()) {
      const { columns: seen, rows } = found[at]!
      assert.deepEqual(
        seen,
        columns.map((column) => [
          column.name,
          kind.name === 'sqlite' ? 'VARCHAR' : DUCKDB_TYPES[column.type],
        ]),
        name,
      )
      const texts = columns.flatMap(({ type }, index) =>
        type === 'text' || type === 'integer' ? [index] : [],
      )
      const exact = (row: readonly (string | null)[]) => texts.map((index) => row[index] ?? null)
      const expected = (await queryStore(store, `select * from ${name}`)).map((row) => Object.values(row))
      assert.ok(expected.length > 0, name)
      assert.deepEqual(sorted(rows.map(exact)), sorted(expected.map(exact)), name)
      // A double has 15 digits as text.
      for (const [index, { type }] of columns.entries()) {
        if (type !== 'number') continue
        const sumOf = (all: readonly (string | null)[][]) =>
          all.reduce((sum, row) => sum + Math.abs(Number(row[index] ?? 0)), 0)
        const [sum, exactSum] = [sumOf(rows), sumOf(expected)]
        assert.ok(Math.abs(sum - exactSum) <= 1e-12 * exactSum, `${name}: ${sum} instead of ${exactSum}`)
      }
    }
  })
})

/** The statements of a block, without those that load an extension, and with the addresses of a test. */
const statementsIn = (text: string) =>
  text
    .replaceAll(/^install (\w+); load \1;$/gm, '')
    .split(';')
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '')

test('The queries of docs/sql.md are answered by DuckDB, PostgreSQL and Grafana', async (t) => {
  const page = documentedPages().find(({ path }) => path === 'docs/sql.md')!
  const blocks = page.blocks.filter(({ language, reason }) => language === 'sql' && reason === null)
  const ofGrafana = blocks.filter(({ text }) => text.includes('$__'))
  const ofRights = blocks.filter(({ text }) => text.includes('create role'))
  const [ofGaps, ...ofDuckDb] = blocks.filter(
    (block) => !ofGrafana.includes(block) && !ofRights.includes(block),
  )
  assert.deepEqual([ofDuckDb.length, ofGrafana.length, ofRights.length], [4, 2, 1])
  const store = await storeOf(t, sqlite, MONTH)
  assert.deepEqual(await queryStore(store, ofGaps!.text), [])
  const folder = join(temporaryFolder(t), 'everything')
  await runWell(t, `export all --store ${store} --out ${folder} --times local`)
  const postgres = STORE_KINDS.find(({ name }) => name === 'postgres')
  const server = postgres?.create(t)
  if (server !== undefined) await runWell(t, `copy --from ${store} --to ${server}`)
  const schema = server === undefined ? '' : new URL(server).searchParams.get('schema')!
  const statements = ofDuckDb
    .filter(({ text }) => server !== undefined || !text.includes('postgres://'))
    .flatMap(({ text }) => statementsIn(text))
    .map((statement) => {
      if (!statement.startsWith('attach'))
        return statement.replaceAll('everything/', `${folder}/`).replaceAll('pg.lyra.', `pg.${schema}.`)
      return statement.includes('sqlite')
        ? attached(store).attach
        : attached(server!).attach.replace(' as lyra ', ' as pg ')
    })
  const results = await runDuckDb(t, statements)
  for (const [at, { rows }] of (results ?? []).entries()) {
    const statement = statements[at]!
    if (!/^attach|v_gaps$/.test(statement)) assert.ok(rows.length > 0, statement)
  }
  if (server === undefined) return skip(t, 'PostgreSQL is not requested (LYRA_TEST_STORE)')
  const role = `analyst_of_docs_${process.pid}`
  t.after(() => runSql(server, `drop owned by ${role}`, `drop role ${role}`))
  for (const { text } of ofRights) {
    const own = text.replaceAll(/\banalyst\b/g, role).replaceAll(/\blyra\b/g, schema)
    await runSql(server, ...statementsIn(own))
  }
  const analyst = new URL(server)
  analyst.username = role
  for (const { text } of ofGrafana) {
    // As Grafana replaces them.
    const sql = text
      .replaceAll(/\blyra\./g, '')
      .replaceAll(
        /\$__timeFilter\((\w+)\)/g,
        "$1 BETWEEN '2024-09-01T00:00:00Z' AND '2024-09-05T12:00:00.5Z'",
      )
      .replaceAll(
        /\$__unixEpochNanoFilter\((\w+)\)/g,
        '$1 >= 1725148800000000000 AND $1 <= 1725494400500000000',
      )
    assert.doesNotMatch(sql, /\$__/)
    const rows = await queryStore(text.includes('points') ? server : analyst.toString(), sql)
    assert.ok(rows.length > 10, text)
    const columns = Object.keys(rows[0]!)
    assert.deepEqual(columns.slice(0, 2), ['time', 'metric'])
  }
})
