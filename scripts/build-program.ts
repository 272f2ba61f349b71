// `npm run build:program`: bundles src/ into dist/program, as packages and tests run it: one start loads a third of the files.
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { isStale } from './is-stale.ts'

const root = join(import.meta.dirname, '..')
const output = join(root, 'dist/program')

/** The entry of the bundle. */
export const BUNDLED_PROGRAM = join(output, 'main.js')

/** What is started by the name of its file: the program, and its threads (src/core/concurrency/module-beside.ts). */
const ENTRIES = [
  'src/main.ts',
  'src/core/records/reading-thread.ts',
  'src/service/answers/render-thread.ts',
  'src/service/live/forward/forward-thread.ts',
  'src/service/live/receive/receiver-thread.ts',
  'src/service/live/ingestion-thread.ts',
  'src/service/streams/long-reads/long-read-thread.ts',
]

const SOURCES = [
  'src/**/*.ts',
  'client/src/*.ts',
  'package.json',
  'package-lock.json',
  'scripts/build-program.ts',
]

/** Bundles the program. What it depends on stays in node_modules. */
async function buildProgram(): Promise<void> {
  // Loaded here, because it is not needed if everything is built.
  const { build } = await import('rolldown')
  const { output: files } = await build({
    cwd: root,
    input: ENTRIES,
    platform: 'node',
    resolve: { conditionNames: ['source', 'node', 'import'] },
    external: (name) => !/^[./#]/.test(name),
    output: { dir: output, format: 'esm', entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js' },
  })
  const names = new Set(files.map(({ fileName }) => fileName))
  for (const name of readdirSync(output)) if (!names.has(name)) rmSync(join(output, name))
}

/** Bundles the program if the bundle is missing, or older than its sources. */
export async function ensureProgramBuilt(): Promise<void> {
  if (isStale(BUNDLED_PROGRAM, root, SOURCES)) await buildProgram()
}

if (import.meta.main) await buildProgram()
