import { enableCompileCache, getCompileCacheDir } from 'node:module'
import { dirname } from 'node:path'
import { openNoDebugger } from '#service/stop-signals'

openNoDebugger()
// Halves the start-up time: compiled code is cached in the system's temporary folder. Before the imports.
enableCompileCache()
const compiled = getCompileCacheDir()
// Threads and further processes find it there; the folder itself is named after the version of Node.
if (compiled !== undefined) process.env.NODE_COMPILE_CACHE ??= dirname(compiled)
// Before anything else is loaded: what serves for weeks, or moves much, is to give memory back.
const HEAP_LIMITS: ReadonlyMap<string | undefined, readonly string[]> = new Map([
  // Of thousands of connections most objects live longer than one collection anyway.
  ['serve', ['--max-semi-space-size=8']],
  // Most memory is for sorted rows: the bytes read are short-lived, a few megabytes.
  ['import', ['--max-semi-space-size=8']],
])
const limits = HEAP_LIMITS.get(process.argv[2])
if (limits !== undefined) {
  const { collectEarly, restartWithAllocatorLimit } = await import('#service/serve/memory')
  restartWithAllocatorLimit(limits)
  if (process.argv[2] === 'serve') collectEarly()
}
const { runProgram } = await import('#tools/cli/program')

await runProgram(process.argv.slice(2))
