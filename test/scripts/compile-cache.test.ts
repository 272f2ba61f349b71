import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, readdirSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { SOURCE_MAIN } from '../fixtures/services/program.ts'
import { fileWith, temporaryFolder } from '../fixtures/stores/stores.ts'

/** Runs `lyra --version` with a temporary folder and a home of its own; returns what both contain afterwards. */
function run(temp: string, home: string, more: Record<string, string> = {}) {
  const { PATH } = process.env
  const env = { PATH, TMPDIR: temp, HOME: home, ...more }
  execFileSync(process.execPath, [SOURCE_MAIN, '--version'], { env, stdio: 'pipe' })
  return { temporary: readdirSync(temp), cached: (folder: string) => readdirSync(folder).length }
}

function made(folder: string): string {
  mkdirSync(folder)
  return folder
}

test('compiled code is cached in a folder of the user alone, and nothing is written to the shared one', (t) => {
  const [temp, home] = [temporaryFolder(t), temporaryFolder(t)]
  const { temporary, cached } = run(temp, home)
  assert.deepEqual(temporary, [])
  const folder = join(home, '.cache/lyra')
  assert.equal(statSync(folder).mode & 0o777, 0o700)
  assert.ok(cached(folder) > 0)
  // Where the user keeps caches elsewhere; a relative path does not count.
  const caches = join(home, 'caches')
  run(temp, home, { XDG_CACHE_HOME: caches })
  assert.ok(cached(join(caches, 'lyra')) > 0)
  const other = temporaryFolder(t)
  run(temp, other, { XDG_CACHE_HOME: 'caches' })
  assert.ok(cached(join(other, '.cache/lyra')) > 0)
})

test('compiled code is not taken from a folder that others can write, own or lead elsewhere', (t) => {
  const cases: [what: string, make: (folder: string, elsewhere: string) => void][] = [
    ['writable by a group', (folder) => chmodSync(made(folder), 0o770)],
    ['writable by all', (folder) => chmodSync(made(folder), 0o707)],
    ['a link', (folder, elsewhere) => symlinkSync(elsewhere, folder)],
  ]
  if (process.getuid?.() === 0) {
    cases.push(["another user's", (folder) => chownSync(made(folder), 65_534, 65_534)])
  }
  for (const [what, make] of cases) {
    const [temp, home, elsewhere] = [temporaryFolder(t), temporaryFolder(t), temporaryFolder(t)]
    const folder = join(home, 'lyra')
    make(folder, elsewhere)
    const { temporary } = run(temp, home, { XDG_CACHE_HOME: home })
    assert.deepEqual([temporary, readdirSync(folder), readdirSync(elsewhere)], [[], [], []], what)
  }
})

test('without a folder for caches the program runs', (t) => {
  const temp = temporaryFolder(t)
  // Nothing can be made below a file.
  const { temporary } = run(temp, fileWith(t, ''))
  assert.deepEqual(temporary, [])
})
