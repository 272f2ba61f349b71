import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ROOT } from './fixtures/documentation.ts'
import { runWell, startProgram } from './fixtures/program.ts'
import { ingestWhole } from './fixtures/service.ts'
import { NAMED_SAMPLE, skip } from './fixtures/shared.ts'
import { temporaryFolder } from './fixtures/stores.ts'

const NOTEBOOK = join(ROOT, 'docs/notebook.ipynb')
const RUN_NOTEBOOK = join(import.meta.dirname, 'clients/run_notebook.py')
const PYTHON = process.env.LYRA_PYTHON ?? 'python3'

type Output = { output_type: string; text?: string[]; data?: { 'image/png'?: string } }
type Cell = { cell_type: string; outputs: Output[] }

test('The notebook, run on an export of the sample, shows its stored tables and charts', async (t) => {
  if (spawnSync(PYTHON, ['-c', 'import duckdb, matplotlib']).status !== 0) {
    return skip(
      t,
      'DuckDB or matplotlib for Python is not installed; LYRA_PYTHON may name a Python that has them',
    )
  }
  const folder = temporaryFolder(t)
  const store = join(folder, 'lyra.db')
  await ingestWhole(store, NAMED_SAMPLE)
  // As in a checkout after the tutorial.
  await runWell(t, ['export', 'all', '--store', store, '--out', join(folder, 'everything')])
  mkdirSync(join(folder, 'docs'))
  copyFileSync(NOTEBOOK, join(folder, 'docs/notebook.ipynb'))
  const run = startProgram(t, PYTHON, [RUN_NOTEBOOK, 'notebook.ipynb'], { cwd: join(folder, 'docs') })
  const { code, stdout, stderr } = await run.outcome
  assert.equal(code, 0, stderr)

  const { cells } = JSON.parse(readFileSync(NOTEBOOK, 'utf8')) as { cells: Cell[] }
  const shown = cells
    .filter(({ cell_type }) => cell_type === 'code')
    .map(({ outputs }) => {
      const charts = outputs.filter(({ output_type }) => output_type !== 'stream')
      // The start of a PNG in base64.
      for (const { data } of charts) assert.match(data!['image/png']!, /^iVBORw0KGgo/)
      return { text: outputs.flatMap(({ text = [] }) => text).join(''), pictures: charts.length }
    })
  assert.ok(shown.filter(({ text }) => text.split('\n').length > 3).length >= 5, 'it shows tables')
  assert.ok(shown.filter(({ pictures }) => pictures > 0).length >= 3, 'it shows charts')
  assert.deepEqual(
    JSON.parse(stdout),
    shown,
    'docs/notebook.ipynb is not up to date: run test/clients/run_notebook.py with --write',
  )
})
