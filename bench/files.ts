import { createWriteStream, existsSync, mkdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { generateRecords } from '../src/generate/generate.ts'
import type { GenerateOptions } from '../src/generate/options.ts'
import { ROOT } from './processes.ts'

/** Where generated files and stores lie; made once, kept between runs. */
export const WORK = join(ROOT, 'tmp/bench')

/** A recording of the core, or null where the folder of recordings is not there. */
export function recording(name: string): string | null {
  const path = join(ROOT, '../shared/events', name)
  return existsSync(path) ? path : null
}

/** A generated event file, gzipped; the same options give the same file. */
export async function generatedFile(options: GenerateOptions): Promise<string> {
  mkdirSync(WORK, { recursive: true })
  const name = Object.entries(options)
    .map(([key, value]) => `${key}${value}`)
    .join('-')
  const path = join(WORK, `${name}.evts.gz`)
  if (existsSync(path)) return path
  const unfinished = `${path}.part`
  await pipeline(
    Readable.from(generateRecords(options)),
    createGzip({ level: 1 }),
    createWriteStream(unfinished),
  )
  renameSync(unfinished, path)
  return path
}
