import { openNoDebugger } from '#service/stop-signals'

openNoDebugger()
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
