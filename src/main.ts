import { enableCompileCache, getCompileCacheDir } from 'node:module'
import { dirname } from 'node:path'

// Halves the start: what is compiled once is kept in the system's folder for temporary files. Before the imports.
enableCompileCache()
const compiled = getCompileCacheDir()
// Threads and further processes find it there; the folder itself is named after the version of Node.
if (compiled !== undefined) process.env.NODE_COMPILE_CACHE ??= dirname(compiled)
// Before anything else is loaded: what serves for weeks is to give memory back.
if (process.argv[2] === 'serve') {
  const { collectEarly, restartWithAllocatorLimit } = await import('./service/memory.ts')
  restartWithAllocatorLimit()
  collectEarly()
}
const { runProgram } = await import('./cli/program.ts')

await runProgram(process.argv.slice(2))
