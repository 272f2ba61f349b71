// `npm run build:program`: bundles src/ into dist/program, as packages and tests run it: one start loads a tenth of the files.
// With --if-stale only if the output is missing or older than its sources.
import { existsSync, globSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'

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
  'src/service/live/worker.ts',
  'src/service/streams/long-reads/long-read-thread.ts',
]

const SOURCES = [
  'src/**/*.ts',
  'client/src/*.ts',
  'package.json',
  'package-lock.json',
  'scripts/build-program.ts',
]

/** Whether the bundle is missing, or older than its sources. */
function isProgramStale(): boolean {
  if (!existsSync(BUNDLED_PROGRAM)) return true
  const { mtimeMs } = statSync(BUNDLED_PROGRAM)
  return globSync(SOURCES, { cwd: root }).some((path) => statSync(join(root, path)).mtimeMs > mtimeMs)
}

/** Bundles the program. What it depends on stays in node_modules. */
export async function buildProgram(): Promise<void> {
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

/** Bundles the program if needed. */
export async function ensureProgramBuilt(): Promise<void> {
  if (isProgramStale()) await buildProgram()
}

if (import.meta.main) await (process.argv.includes('--if-stale') ? ensureProgramBuilt() : buildProgram())
