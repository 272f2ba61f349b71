import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The checkout, or the package. */
const ROOT = join(import.meta.dirname, '../..')

/** File in a package with the commit that it was built from (scripts/build.ts), beside the compiled program. */
export const COMMIT_FILE = 'commit.txt'

/** The program's version, from its package. */
export const PROGRAM_VERSION: string = (
  JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }
).version

/** The first 12 digits of the commit that the program is built from, or that is checked out; null if that is not known. */
export function commit(): string | null {
  const file = join(import.meta.dirname, '..', COMMIT_FILE)
  if (existsSync(file)) return readFileSync(file, 'utf8').trim()
  if (!existsSync(join(ROOT, '.git'))) return null
  const { status, stdout } = spawnSync('git', ['-C', ROOT, 'rev-parse', '--short=12', 'HEAD'], {
    encoding: 'utf8',
  })
  return status === 0 ? stdout.trim() : null
}
