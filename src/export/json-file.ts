import { readFileSync, renameSync, writeFileSync } from 'node:fs'

/** The JSON of a file; null if there is none, or what is there is not JSON. */
export function readJson<T>(path: string): T | null {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as T
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    if (isMissing || error instanceof SyntaxError) return null
    throw error
  }
}

/** Writes a value as JSON: all of it, or nothing. */
export function writeJson(path: string, value: unknown): void {
  const partial = `${path}.partial`
  writeFileSync(partial, `${JSON.stringify(value, null, 1)}\n`, { flush: true })
  renameSync(partial, path)
}
