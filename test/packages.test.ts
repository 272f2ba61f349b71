import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, globSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { send } from './fixtures/http.ts'
import { addressOf, startProgram } from './fixtures/program.ts'
import { NAMED_SAMPLE, skip } from './fixtures/shared.ts'
import { temporaryFolder } from './fixtures/stores.ts'

const ROOT = dirname(import.meta.dirname)
const PACKAGES = join(ROOT, 'dist/packages')

/** A file of `npm run packages`; if it was not built, null, and the test is skipped. */
function packed(t: Parameters<typeof skip>[0], ending: string): string | null {
  const names = existsSync(PACKAGES) ? readdirSync(PACKAGES) : []
  const name = names.find((candidate) => candidate.endsWith(ending))
  if (name === undefined) skip(t, `npm run packages has not built dist/packages/*${ending}`)
  return name === undefined ? null : join(PACKAGES, name)
}

/** Configures the package as on a machine with systemd, with a substitute for `systemctl`. */
function configuresAsUnderSystemd(t: TestContext, store: string): void {
  const folder = temporaryFolder(t)
  const log = join(folder, 'log')
  writeFileSync(join(folder, 'systemctl'), `#!/bin/sh\necho "$@" >> ${log}\n`, { mode: 0o755 })
  const had = existsSync('/run/systemd/system')
  mkdirSync('/run/systemd/system', { recursive: true })
  const configure = () => {
    writeFileSync(log, '')
    const env = { ...process.env, PATH: `${folder}:${process.env.PATH}` }
    const { status, stderr } = spawnSync('/var/lib/dpkg/info/lyra.postinst', ['configure'], {
      env,
      encoding: 'utf8',
    })
    assert.equal(status, 0, stderr)
    return { stderr, asked: readFileSync(log, 'utf8') }
  }
  try {
    assert.match(configure().asked, /try-restart lyra\.service/)
    const whole = readFileSync(store)
    const older = gunzipSync(readFileSync(join(import.meta.dirname, 'fixtures/store-0.2.0/lyra.db.gz')))
    writeFileSync(store, older)
    const { asked, stderr } = configure()
    assert.doesNotMatch(asked, /restart/)
    assert.match(
      stderr,
      /lyra backup --store '\/var\/lib\/lyra\/lyra\.db'[\s\S]*systemctl restart lyra\.service/,
    )
    assert.ok(readFileSync(store).equals(older), 'the store is unchanged')
    writeFileSync(store, whole)
  } finally {
    if (!had) rmSync('/run/systemd', { recursive: true })
  }
}

describe('the packages of npm run packages', () => {
  test('the archive contains a program that needs no Node', async (t) => {
    const archive = packed(t, 'linux-x64.tar.gz')
    if (archive === null) return
    const folder = temporaryFolder(t)
    execFileSync('tar', ['-xzf', archive, '-C', folder])
    const [name] = readdirSync(folder)
    assert.match(name!, /^lyra-\d+\.\d+\.\d+-linux-x64$/)
    // A minimal system: the program's start script only needs sh, dirname and readlink.
    const env = { PATH: '/usr/bin:/bin', NODE_OPTIONS: '' }
    const lyra = join(folder, name!, 'bin/lyra')
    const store = join(folder, 'lyra.db')
    const ingested = await startProgram(t, lyra, ['ingest', '--store', store, NAMED_SAMPLE], { env }).outcome
    assert.equal(ingested.code, 0, ingested.stderr)
    const service = startProgram(
      t,
      lyra,
      ['serve', '--port', '0', '--grpc', '127.0.0.1:0', '--store', store],
      {
        env,
      },
    )
    await service.printed(/serving gRPC on 127/)
    const base = await addressOf(service)
    const answer = await send(base, '/api/v2/checkpoints?pagination.first=1')
    assert.deepEqual([answer.status, answer.headers['x-block-height']], [200, '905'])
    for (const page of ['/', '/docs']) assert.match((await send(base, page)).text, /^<!doctype html>/, page)
    const node = join(folder, name!, 'lib/node')
    assert.equal(execFileSync(node, ['--version']).toString().trim(), process.version)
  })

  test('an archive has the documents that it refers to, the licences, and a bill of materials', (t) => {
    const archive = packed(t, 'x64.tar.gz')
    if (archive === null) return
    const folder = temporaryFolder(t)
    execFileSync('tar', ['-xzf', archive, '-C', folder, '--strip-components', '1'])
    const read = (path: string) => readFileSync(join(folder, path), 'utf8')
    for (const [, link] of read('README.md').matchAll(/\]\((?!https?:)([^)#]+)/g))
      assert.ok(existsSync(join(folder, link!)), link!)
    for (const path of [
      'docs/install.md',
      'docs/import.md',
      'deploy/lyra.service',
      'deploy/prometheus/alerts.yml',
    ])
      assert.ok(existsSync(join(folder, path)), path)
    const bill = JSON.parse(read('sbom.cdx.json')) as {
      bomFormat: string
      components: { name: string; version: string; licenses: object[] }[]
    }
    assert.equal(bill.bomFormat, 'CycloneDX')
    const listed = new Set(bill.components.map(({ name, version }) => `${name} ${version}`))
    const licences = read('THIRD-PARTY-LICENSES')
    const installed = [...globSync('lib/app/node_modules/{*,@*/*}/package.json', { cwd: folder })].map(
      (path) => {
        const { name, version } = JSON.parse(read(path)) as { name: string; version: string }
        return `${name} ${version}`
      },
    )
    assert.ok(installed.length > 50)
    for (const one of [...installed, 'uplot 1.', 'preact 1']) {
      assert.ok(
        [...listed].some((name) => name.startsWith(one)),
        one,
      )
      assert.ok(licences.includes(`${one}`), one)
    }
    for (const { name, licenses } of bill.components) assert.equal(licenses.length, 1, name)
  })

  test('the check sums match the files', (t) => {
    if (packed(t, 'SHA256SUMS') === null) return
    execFileSync('sha256sum', ['--check', '--quiet', 'SHA256SUMS'], { cwd: PACKAGES })
  })

  test('the Debian package can be installed, run and purged without deleting the store', async (t) => {
    const file = packed(t, 'amd64.deb')
    if (file === null) return
    if (process.env.LYRA_TEST_INSTALL !== '1' || process.getuid?.() !== 0) {
      return t.skip('set LYRA_TEST_INSTALL=1 to install it on this machine as root')
    }
    const apt = (...args: string[]) => execFileSync('apt-get', ['--yes', '--quiet', ...args])
    apt('install', file)
    t.after(() => execFileSync('dpkg', ['--purge', 'lyra'], { stdio: 'ignore' }))
    assert.match(execFileSync('stat', ['--format=%U %a', '/var/lib/lyra']).toString(), /^lyra 750/)
    assert.match(execFileSync('stat', ['--format=%G %a', '/etc/lyra/lyra.env']).toString(), /^lyra 640/)
    assert.match(
      readFileSync('/usr/lib/systemd/system/lyra.service', 'utf8'),
      /^ExecStart=\/usr\/bin\/lyra serve$/m,
    )
    const store = '/var/lib/lyra/lyra.db'
    const args = ['--user', 'lyra', '--', '/usr/bin/lyra', 'ingest', '--store', store, NAMED_SAMPLE]
    execFileSync('install', ['-m', '0644', NAMED_SAMPLE, '/tmp/lyra-sample.evts.gz'])
    args[args.length - 1] = '/tmp/lyra-sample.evts.gz'
    assert.match(execFileSync('runuser', args).toString(), /^905 blocks ingested/)
    assert.match(
      readFileSync('/usr/lib/systemd/system/lyra.service', 'utf8'),
      /file:\/\/\/usr\/share\/doc\/lyra\/docs\/install\.md/,
    )
    assert.match(
      execFileSync('dpkg-deb', ['-c', file]).toString(),
      /\.\/usr\/share\/doc\/lyra\/docs\/install\.md/,
    )
    configuresAsUnderSystemd(t, store)
    apt('purge', 'lyra')
    assert.ok(!existsSync('/usr/bin/lyra') && !existsSync('/etc/lyra') && !existsSync('/usr/lib/lyra'))
    assert.ok(existsSync(store), 'the store is kept')
    for (const path of ['/var/lib/lyra', '/tmp/lyra-sample.evts.gz']) execFileSync('rm', ['-rf', path])
  })
})
