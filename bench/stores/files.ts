import { createWriteStream, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { newestVersion } from '#core/store/schema-version'
import { SQLITE_SCHEMA } from '#core/store/sqlite/schema'
import { generateRecords } from '#tools/generate/generate'
import type { GenerateOptions } from '#tools/generate/options'
import { ROOT } from '../processes.ts'

/** Where generated files and stores lie, which later runs use again. */
export const WORK = join(ROOT, 'tmp/bench')

/** Path of a store that later runs use again; one of an older schema has another path. */
export function reusedStore(name: string): string {
  return join(WORK, `${name}-schema${newestVersion(SQLITE_SCHEMA)}.db`)
}

/** Removes a SQLite store with its side files. */
export function removeStore(path: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true })
}

/** The markets of a SQLite store that any row names. */
export function marketsOf(store: string): string[] {
  const database = new DatabaseSync(store, { readOnly: true })
  try {
    const rows = database.prepare('select market_id from markets order by market').all()
    return rows.map((row) => String(row.market_id))
  } finally {
    database.close()
  }
}

/** As the recordings have it (smoke's bytes are those of level 6): the level decides what inflating costs. */
const GZIP_LEVEL = 6

/**
 * 600,000 events as mixed as the recording smoke: 6.7 records a block, 15 % market data of one market with
 * two providers, hardly any data points.
 */
export const SMOKE_LIKE: GenerateOptions = {
  blocks: 90_000,
  markets: 1,
  parties: 2,
  points: 0.02,
  events: 2.4,
}

/**
 * 625,000 events as mixed as the recording perps-long: 36 % market data of three markets with nine providers, 24 %
 * data points.
 */
export const PERPS_LIKE: GenerateOptions = { blocks: 75_000, markets: 3, parties: 9, points: 2, events: 0 }

/** A generated event file, gzipped; the same options give the same file. */
export async function generatedFile(options: GenerateOptions): Promise<string> {
  mkdirSync(WORK, { recursive: true })
  const name = Object.entries({ ...options, level: GZIP_LEVEL })
    .map(([key, value]) => `${key}${value}`)
    .join('-')
  const path = join(WORK, `${name}.evts.gz`)
  if (existsSync(path)) return path
  const part = `${path}.part`
  await pipeline(
    Readable.from(generateRecords(options)),
    createGzip({ level: GZIP_LEVEL }),
    createWriteStream(part),
  )
  renameSync(part, path)
  return path
}
