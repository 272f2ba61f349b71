import { hash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { PACKAGE_ROOT } from '../../version.ts'

/** How a file is encoded: as it is, or compressed, in a file beside it. */
export type StaticEncoding = 'br' | 'gzip' | 'identity'

const SUFFIXES: Record<StaticEncoding, string> = { br: '.br', gzip: '.gz', identity: '' }

const CONTENT_TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

export type StaticFile = {
  /** Its media type. */
  type: string
  /** The beginning of its entity tags. */
  digest: string
  bodies: ReadonlyMap<StaticEncoding, Buffer>
}

/** What `npm run build:web` has built (scripts/build-web.ts). The path is the same from `src` and from the compiled program. */
const WEB_FOLDER = join(PACKAGE_ROOT, 'dist/web')

/**
 * The pages and their assets, by name within the folder: `index.html`, `assets/index-1a2b.js`. Read once, so that a
 * build during operation never mixes with the files being served. None if nothing is built.
 */
export function readStaticFiles(folder = WEB_FOLDER): ReadonlyMap<string, StaticFile> {
  const files = new Map<string, StaticFile>()
  if (!existsSync(folder)) return files
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const type = CONTENT_TYPES[extname(name)]
    if (type !== undefined) files.set(name.replaceAll('\\', '/'), readStaticFile(join(folder, name), type))
  }
  return files
}

function readStaticFile(path: string, type: string): StaticFile {
  const bodies = new Map<StaticEncoding, Buffer>()
  for (const [encoding, suffix] of Object.entries(SUFFIXES) as [StaticEncoding, string][]) {
    if (existsSync(path + suffix)) bodies.set(encoding, readFileSync(path + suffix))
  }
  return { type, bodies, digest: hash('sha1', bodies.get('identity')!, 'base64url') }
}
