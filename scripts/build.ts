// `npm run build`: compiles src/ to dist/ and builds web/ to dist/web: the content of the published package.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { COMMIT_FILE, commit, PROGRAM_VERSION } from '#service/version'
import { buildWeb, isWebStale } from './build-web.ts'

const root = join(import.meta.dirname, '..')
const dist = join(root, 'dist')
// The pages are replaced at once when they are built anew: a service may be reading them. Packages are of another command.
for (const name of existsSync(dist) ? readdirSync(dist) : []) {
  if (name !== 'web' && name !== 'packages') rmSync(join(dist, name), { recursive: true })
}
// Standard output is only for the package's name, which npm pack prints.
const { status } = spawnSync('tsc', ['--project', 'tsconfig.build.json'], {
  cwd: root,
  stdio: ['ignore', 2, 2],
  shell: process.platform === 'win32',
})
if (status !== 0) process.exit(status ?? 1)
// Imports by name cannot leave the folder of the package.json that maps them.
cpSync(join(root, 'client/dist'), join(dist, 'client'), {
  recursive: true,
  filter: (path) => !/\.(?:d\.ts|tsbuildinfo)$/.test(path),
})
const imports = Object.fromEntries(
  ['client', 'core', 'service', 'tools'].map((name) => [`#${name}/*`, `./${name}/*.js`]),
)
writeFileSync(join(dist, 'package.json'), JSON.stringify({ type: 'module', imports }))
const known = commit()
if (known !== null) writeFileSync(join(dist, COMMIT_FILE), `${known}\n`)
// Of the day of the commit, so that the same commit has the same page. Loaded once the client, which commands use, is compiled.
const { manPage } = await import('./man-page.ts')
const day = spawnSync('git', ['log', '-1', '--format=%cs'], { cwd: root, encoding: 'utf8' }).stdout.trim()
writeFileSync(join(dist, 'lyra.1'), await manPage(PROGRAM_VERSION, day))
if (isWebStale()) await buildWeb()
