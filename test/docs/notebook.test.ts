import assert from 'node:assert/strict'
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { assertSays } from '../fixtures/assert-says.ts'
import { ROOT } from '../fixtures/documentation.ts'
import { storeOfGenerated } from '../fixtures/events/large-stream.ts'
import { ended, runWell, startProgram } from '../fixtures/services/program.ts'
import { PYTHON, skipsWithoutPython } from '../fixtures/services/python.ts'
import { storeOf } from '../fixtures/services/service.ts'
import { MONTH, SAMPLE } from '../fixtures/shared.ts'
import { STORE_KINDS, sqlite, temporaryFolder } from '../fixtures/stores/stores.ts'

const NOTEBOOK = join(ROOT, 'docs/notebook.ipynb')
const RUN_NOTEBOOK = join(import.meta.dirname, '../clients/run_notebook.py')

type Output = { output_type: string; text?: string[]; data?: { 'image/png'?: string } }
type Cell = { cell_type: string; outputs: Output[] }

const skipsWithoutPackages = (t: TestContext) => skipsWithoutPython(t, 'duckdb', 'matplotlib')

/** Runs the notebook on an export of a store, as in a checkout after the tutorial. */
async function runNotebook(t: TestContext, store: string) {
  const folder = temporaryFolder(t)
  await runWell(t, `export all --store ${store} --out ${folder}/everything --times local`)
  mkdirSync(join(folder, 'docs'))
  copyFileSync(NOTEBOOK, join(folder, 'docs/notebook.ipynb'))
  return startProgram(t, PYTHON, [RUN_NOTEBOOK, 'notebook.ipynb'], { cwd: join(folder, 'docs') })
}

test('The notebook, run on an export of the sample, shows its stored tables and charts', async (t) => {
  if (skipsWithoutPackages(t)) return
  const { stdout } = await ended(await runNotebook(t, await storeOf(t, sqlite, MONTH)))

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

test('The notebook says if an export has nothing to chart', async (t) => {
  if (skipsWithoutPackages(t)) return
  const shownOf = async (blocks: number) => {
    const store = await storeOfGenerated(t, STORE_KINDS[0]!, { blocks, events: 0 })
    const { stdout } = await ended(await runNotebook(t, store))
    return JSON.parse(stdout) as { text: string; pictures: number }[]
  }
  const unpaid = await shownOf(100)
  assert.equal(unpaid.filter(({ pictures }) => pictures > 0).length, 3)
  const told = unpaid.map(({ text }) => text).join('')
  assertSays(told, 'No market of the export has a paid funding period')
  assertSays(told, 'This chart is empty')

  const { stderr } = await (await runNotebook(t, await storeOf(t, sqlite, SAMPLE))).outcome
  assert.equal(stderr, '../everything contains no instruments: export a store that has them (lyra status)\n')
})
