import { readFileSync, renameSync, writeFileSync } from 'node:fs'

/** Parses a JSON file; null if it is missing or not JSON. */
export function readJson<T>(path: string): T | null {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as T
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    if (isMissing || error instanceof SyntaxError) return null
    throw error
  }
}

/** Writes a value as JSON, atomically. */
export function writeJson(path: string, value: unknown): void {
  const partial = `${path}.partial`
  writeFileSync(partial, `${JSON.stringify(value, null, 1)}\n`, { flush: true })
  renameSync(partial, path)
}
