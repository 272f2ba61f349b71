import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The folder of the checkout or the package. This module is as deep in the sources as in the bundle (dist/program). */
export const PACKAGE_ROOT = join(import.meta.dirname, '../..')

/** File in a package with the commit that it was built from (scripts/build.ts). */
export const COMMIT_FILE = 'dist/commit.txt'

/** The program's version, from its package. */
export const PROGRAM_VERSION: string = (
  JSON.parse(readFileSync(join(PACKAGE_ROOT, 'package.json'), 'utf8')) as { version: string }
).version

/** The first 12 digits of the commit that the program is built from, or that is checked out; null if that is not known. */
export function commit(): string | null {
  if (!existsSync(join(PACKAGE_ROOT, '.git'))) {
    const file = join(PACKAGE_ROOT, COMMIT_FILE)
    return existsSync(file) ? readFileSync(file, 'utf8').trim() : null
  }
  const { status, stdout } = spawnSync('git', ['-C', PACKAGE_ROOT, 'rev-parse', '--short=12', 'HEAD'], {
    encoding: 'utf8',
  })
  return status === 0 ? stdout.trim() : null
}
