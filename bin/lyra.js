#!/usr/bin/env node
// Plain JavaScript that every Node reads: an older one is told so in one line. It also starts the cache of compiled code before
// the first file of TypeScript, for which Node would load its compiler: a third of a start.
import { existsSync } from 'node:fs'
import module from 'node:module'
import { compileCacheFolder } from './compile-cache.js'

const REQUIRED = 24
/** Of a checkout; a package has only what is built of it. */
const SOURCES = new URL('../src/main.ts', import.meta.url)

if (Number(process.versions.node.split('.')[0]) < REQUIRED) {
  console.error(
    `lyra: needs Node ${REQUIRED} or later, and this is ${process.version}; install a newer Node from https://nodejs.org`,
  )
  process.exitCode = 1
} else {
  const compiled = process.env.NODE_COMPILE_CACHE ?? compileCacheFolder()
  if (compiled !== null) {
    module.enableCompileCache(compiled)
    // For threads and further processes.
    process.env.NODE_COMPILE_CACHE = compiled
  }
  await import(existsSync(SOURCES) ? SOURCES : '../dist/program/main.js')
}
