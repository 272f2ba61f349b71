// `npm run build`: compiles src/ to dist/, which is what the published package holds.
import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
rmSync(join(root, 'dist'), { recursive: true, force: true })
// npm pack prints the package's name on standard output, and nothing else may stand there.
const { status } = spawnSync('tsc', ['--project', 'tsconfig.build.json'], {
  cwd: root,
  stdio: ['ignore', 2, 2],
  shell: process.platform === 'win32',
})
process.exit(status ?? 1)
