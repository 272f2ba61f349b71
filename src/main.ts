import { enableCompileCache } from 'node:module'

// Halves the start: what is compiled once is kept in the system's folder for temporary files. Before the imports.
enableCompileCache()
const { runProgram } = await import('./cli/program.ts')

await runProgram(process.argv.slice(2))
