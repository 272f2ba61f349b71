#!/usr/bin/env node
// Plain JavaScript that every Node reads: an older one is told so in one line.
const REQUIRED = 24

if (Number(process.versions.node.split('.')[0]) < REQUIRED) {
  console.error(
    `lyra: needs Node ${REQUIRED} or later, and this is ${process.version}; install a newer Node from https://nodejs.org`,
  )
  process.exitCode = 1
} else {
  await import('../dist/main.js')
}
