// Installs the checkout's dependencies if they are missing or outdated, so that one command suffices.
// Plain JavaScript: it runs on whatever Node the machine has. All output goes to standard error.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname ?? new URL('.', import.meta.url).pathname, '..')
const lock = join(root, 'package-lock.json')
const installed = join(root, 'node_modules', '.package-lock.json')
// Built by the installation.
const client = join(root, 'client', 'dist')

if (!existsSync(installed) || !existsSync(client) || statSync(lock).mtimeMs > statSync(installed).mtimeMs) {
  console.error('Installing dependencies (once) ...')
  const npm = process.env.npm_execpath
  const [command, args] = npm === undefined ? ['npm', []] : [process.execPath, [npm]]
  const { status } = spawnSync(command, [...args, 'ci', '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', process.stderr, process.stderr],
    shell: npm === undefined && process.platform === 'win32',
  })
  if (status !== 0) {
    console.error('npm ci failed; see above.')
    process.exit(1)
  }
}

const bin = join(root, 'node_modules', '.bin')
const packed = existsSync(bin) && readdirSync(bin).some((name) => name === 'node' || name.startsWith('node.'))
if (!packed && Number(process.versions.node.split('.')[0]) < 24) {
  console.error(
    `There is no packaged Node for ${process.platform}-${process.arch}: install Node 24 or later (this is ${process.version}).`,
  )
  process.exit(1)
}
