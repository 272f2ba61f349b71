// `npm run build:web`: builds web/ (explorer and API reference) into dist/web, each file compressed beside it.
// With --if-stale only if the output is missing or older than its sources.
import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { isStale } from './is-stale.ts'

const root = join(import.meta.dirname, '..')
const output = join(root, 'dist/web')

/** Sources of the pages. */
const SOURCES = ['web/*', 'web/{src,reference}/**/*', 'client/src/**/*', 'package-lock.json']

/** Whether the pages are missing, or older than their sources. */
export function isWebStale(): boolean {
  return isStale(join(output, 'index.html'), root, SOURCES)
}

/**
 * Builds the pages. The output takes the old one's place once it is whole, so that who reads it meanwhile gets
 * the one or the other.
 */
export async function buildWeb(): Promise<void> {
  // Loaded here, because it is not needed if everything is built.
  const { build } = await import('vite')
  const fresh = `${output}.${process.pid}`
  await build({
    configFile: join(root, 'web/vite.config.ts'),
    logLevel: 'warn',
    build: { outDir: fresh, emptyOutDir: true },
  })
  for (const name of readdirSync(fresh, { recursive: true, encoding: 'utf8' })) {
    const path = join(fresh, name)
    if (statSync(path).isFile()) compress(path)
  }
  rmSync(output, { recursive: true, force: true })
  renameSync(fresh, output)
}

/** Builds the pages if needed. A service without them serves everything else, so a failure is only reported. */
export async function ensureWebBuilt(): Promise<void> {
  if (!isWebStale()) return
  console.error('Building the explorer and the API reference ...')
  try {
    await buildWeb()
  } catch (error) {
    console.error(`They could not be built, and are left out: ${(error as Error).message}`)
  }
}

function compress(path: string): void {
  const bytes = readFileSync(path)
  writeFileSync(`${path}.gz`, gzipSync(bytes, { level: constants.Z_BEST_COMPRESSION }))
  writeFileSync(
    `${path}.br`,
    brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } }),
  )
}

if (import.meta.main) await (process.argv.includes('--if-stale') ? ensureWebBuilt() : buildWeb())
