// `npm run build`: bundles src/ to dist/program and builds web/ to dist/web: the content of the published package.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { COMMIT_FILE, commit, PROGRAM_VERSION } from '#service/version'
import { ensureProgramBuilt } from './build-program.ts'
import { buildWeb, isWebStale } from './build-web.ts'
import { manPage } from './man-page.ts'

const root = join(import.meta.dirname, '..')
const dist = join(root, 'dist')
// What others may be running is replaced only if it is old. Packages are of another command.
const STAYS = ['program', 'web', 'packages']
for (const name of existsSync(dist) ? readdirSync(dist) : []) {
  if (!STAYS.includes(name)) rmSync(join(dist, name), { recursive: true })
}
await ensureProgramBuilt()
const known = commit()
if (known !== null) writeFileSync(join(root, COMMIT_FILE), `${known}\n`)
// Of the day of the commit, so that the same commit has the same page.
const day = spawnSync('git', ['log', '-1', '--format=%cs'], { cwd: root, encoding: 'utf8' }).stdout.trim()
writeFileSync(join(dist, 'lyra.1'), await manPage(PROGRAM_VERSION, day))
if (isWebStale()) await buildWeb()
