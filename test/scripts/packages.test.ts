import assert from 'node:assert/strict'
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { PROGRAM_VERSION } from '#service/version'
import { assertSays } from '../fixtures/assert-says.ts'
import { send } from '../fixtures/requests/http.ts'
import { LONG } from '../fixtures/sampling.ts'
import { addressOf, ended, startProgram } from '../fixtures/services/program.ts'
import { skipsWithoutPython } from '../fixtures/services/python.ts'
import { NAMED_SAMPLE, skip } from '../fixtures/shared.ts'
import { temporaryFolder } from '../fixtures/stores/stores.ts'

const ROOT = join(import.meta.dirname, '../..')
const PACKAGES = join(ROOT, 'dist/packages')

/** A file of `npm run packages`; if it was not built, null, and the test is skipped. */
function packed(t: Parameters<typeof skip>[0], ending: string): string | null {
  const names = existsSync(PACKAGES) ? readdirSync(PACKAGES) : []
  const name = names.find((candidate) => candidate.endsWith(ending))
  if (name === undefined) skip(t, `npm run packages has not built dist/packages/*${ending}`)
  return name === undefined ? null : join(PACKAGES, name)
}

/** Upgrades the package as on a machine with systemd, with a substitute for `systemctl`. */
async function upgradesAsUnderSystemd(t: TestContext, store: string): Promise<void> {
  const folder = temporaryFolder(t)
  const log = join(folder, 'log')
  const had = existsSync('/run/systemd/system')
  mkdirSync('/run/systemd/system', { recursive: true })
  const run = (script: string, action: string, from = '0.2.0') => {
    writeFileSync(log, '')
    const env = { ...process.env, PATH: `${folder}:${process.env.PATH}` }
    const path = `/var/lib/dpkg/info/lyra.${script}`
    const { status, stdout, stderr } = spawnSync(path, [action, from], { env, encoding: 'utf8' })
    return { status, stdout, stderr, asked: readFileSync(log, 'utf8') }
  }
  /** A reader that is ready once it has been asked three times, and notes it in the log. */
  const reader = spawn(
    process.execPath,
    [
      '-e',
      `let asked = 0; const { appendFileSync } = require('node:fs')
      require('node:http').createServer((_, answer) => {
        answer.writeHead(++asked < 3 ? 503 : 200).end()
        if (asked === 3) appendFileSync(${JSON.stringify(log)}, 'reader ready\\n')
      }).listen(0, '127.0.0.1', function () { console.log(this.address().port) })`,
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  t.after(() => reader.kill())
  const [port] = (await once(reader.stdout, 'data')) as [Buffer]
  const unit = `lyra-reader@${String(port).trim()}.service`
  writeFileSync(
    join(folder, 'systemctl'),
    `#!/bin/sh\necho "$@" >> ${log}\nif [ "$1" = list-units ]; then echo "${unit} loaded"; fi\nif [ "$1" = try-restart ]; then exit 1; fi\n`,
    { mode: 0o755 },
  )
  try {
    const older = gunzipSync(
      readFileSync(join(import.meta.dirname, '../fixtures/old-stores/store-0.2.0/lyra.db.gz')),
    )
    writeFileSync(store, older)
    const before = run('preinst', 'upgrade')
    assert.deepEqual([before.status, before.stderr], [0, ''])
    assert.match(before.asked, /is-active lyra\.service\nstop lyra\.service\n$/)
    const after = run('postinst', 'configure')
    assert.equal(after.status, 0, after.stderr)
    assertSays(after.stderr, `${unit} did not start`)
    assert.match(after.stdout, /upgraded the schema from version 7 to \d+/)
    assert.match(after.asked, new RegExp(`start lyra\\.service\n.*\ntry-restart ${unit}\nreader ready\n`))
    // A later version that is replaced by this one leaves the backup as it is.
    assert.equal(run('preinst', 'upgrade', '99.0.0-1').status, 0)
    assert.ok(existsSync('/var/lib/lyra/before-downgrade.db'))
    const check = ['migrate', '--check', '--store', '/var/lib/lyra/before-upgrade.db']
    assertSays(
      spawnSync('runuser', ['--user', 'lyra', '--', 'lyra', ...check], { encoding: 'utf8' }).stdout,
      'version 7; lyra migrate would upgrade it',
    )

    writeFileSync(store, 'text'.repeat(999))
    const refused = run('preinst', 'upgrade')
    assert.equal(refused.status, 1)
    assertSays(refused.stderr, 'not upgraded, because ... could not be backed up')
    assert.doesNotMatch(refused.asked, /stop/)
    writeFileSync('/run/lyra-was-active', '')
    const failed = run('postinst', 'configure')
    assert.equal(failed.status, 1)
    assert.match(
      failed.stderr,
      /install version 0\.2\.0 .*\n.*runuser --user lyra -- install -m 600 '\/var\/lib\/lyra\/before-upgrade\.db'/,
    )
    assert.doesNotMatch(failed.asked, /start lyra\.service/)
    assert.match(
      run('postinst', 'configure', '99.0.0-1').stderr,
      /is of version 99\.0\.0-1: restore it as it was before that upgrade:\n.*before-upgrade\.db/,
    )
  } finally {
    rmSync('/run/lyra-was-active', { force: true })
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
    await ended(startProgram(t, lyra, `ingest --store ${store} ${NAMED_SAMPLE}`, { env }))
    const service = startProgram(t, lyra, `serve --port 0 --grpc 127.0.0.1:0 --store ${store}`, { env })
    await service.printed('serving gRPC on 127')
    const base = await addressOf(service)
    const answer = await send(base, '/api/v2/checkpoints?pagination.first=1')
    assert.deepEqual([answer.status, answer.headers['x-block-height']], [200, '905'])
    for (const page of ['/', '/docs']) assert.match((await send(base, page)).text, /^<!doctype html>/, page)
    const node = join(folder, name!, 'lib/node')
    const [, pinned] = /version: '([\d.]+)'/.exec(readFileSync(join(ROOT, 'scripts/packages.ts'), 'utf8'))!
    assert.equal(execFileSync(node, ['--version']).toString().trim(), `v${pinned}`)
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
      'deploy/lyra-receive.service',
      'deploy/prometheus/alerts.yml',
      'deploy/prometheus/markets.yml',
      'deploy/grafana/markets.json',
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
        const { name, version } = JSON.parse(read(path))
        return `${name} ${version}`
      },
    )
    assert.ok(installed.length > 20)
    for (const one of [...installed, 'uplot 1.', 'preact 1']) {
      assert.ok(
        [...listed].some((name) => name.startsWith(one)),
        one,
      )
      assert.ok(licences.includes(`${one}`), one)
    }
    for (const { name, licenses } of bill.components) assert.equal(licenses.length, 1, name)
  })

  test('no link leads out of the packages', (t) => {
    const archive = packed(t, 'linux-x64.tar.gz')
    const deb = packed(t, 'amd64.deb')
    if (archive === null || deb === null) return
    for (const [program, args] of [
      ['tar', ['-tvzf', archive]],
      ['dpkg-deb', ['-c', deb]],
    ] as const) {
      const links = execFileSync(program, args, { encoding: 'utf8', maxBuffer: 64e6 })
        .split('\n')
        .filter((line) => line.startsWith('l'))
      assert.deepEqual(links, [], program)
    }
  })

  test('the packages are the same if they are made again', async (t) => {
    if (!LONG) return t.skip('npm run test:long makes them again')
    const sums = packed(t, 'SHA256SUMS')
    if (sums === null) return
    const before = readFileSync(sums, 'utf8')
    execFileSync('npm', ['run', '--silent', 'packages', '--', '--only', 'x64'], {
      cwd: ROOT,
      stdio: 'ignore',
    })
    assert.equal(readFileSync(sums, 'utf8'), before)
  })

  test('one file has the check sums of all packages, by name', (t) => {
    const sums = packed(t, 'SHA256SUMS')
    if (sums === null) return
    execFileSync('sha256sum', ['--check', '--strict', '--quiet', 'SHA256SUMS'], { cwd: PACKAGES })
    const names = [...readFileSync(sums, 'utf8').matchAll(/^[0-9a-f]{64} {2}(.*)$/gm)].map(([, name]) => name)
    const files = readdirSync(PACKAGES).filter((name) => !name.startsWith('SHA256SUMS'))
    assert.deepEqual(names, files.sort())
    for (const [kind, name] of [
      ['archive', /^lyra-[\d.]+-linux-x64\.tar\.gz$/],
      ['package for Debian', /^lyra_[\d.]+-\d+_amd64\.deb$/],
      ['program for npm', /^lyra-node-[\d.]+\.tgz$/],
      ['client for npm', /^lyra-client-[\d.]+\.tgz$/],
    ] as const)
      assert.ok(
        names.some((one) => name.test(one!)),
        kind,
      )
  })

  test('for PyPI, there are a wheel and its sources', (t) => {
    if (packed(t, 'SHA256SUMS') === null || skipsWithoutPython(t, 'hatchling')) return
    const names = readdirSync(PACKAGES).filter((name) => name.startsWith('lyra_client-'))
    assert.deepEqual(names.sort(), [
      `lyra_client-${PROGRAM_VERSION}-py3-none-any.whl`,
      `lyra_client-${PROGRAM_VERSION}.tar.gz`,
    ])
    const files = execFileSync('tar', ['-tzf', join(PACKAGES, names[1]!)], { encoding: 'utf8' })
    for (const name of ['LICENSE', 'README.md', 'pyproject.toml', 'src/lyra_client/py.typed'])
      assertSays(files, `/${name}`)
  })

  test('the manual page is where man looks for it, the same for the same commit', (t) => {
    const archive = packed(t, 'linux-x64.tar.gz')
    const deb = packed(t, 'amd64.deb')
    if (archive === null || deb === null) return
    const folder = temporaryFolder(t)
    execFileSync('dpkg-deb', ['--extract', deb, folder])
    const packedPage = readFileSync(join(folder, 'usr/share/man/man1/lyra.1.gz'))
    // No time, no name of a file.
    assert.deepEqual([packedPage[3], packedPage.readUInt32LE(4)], [0, 0])
    const page = gunzipSync(packedPage).toString()
    assert.ok(page.startsWith('.TH LYRA 1 '))
    const path = `lyra-${PROGRAM_VERSION}-linux-x64/share/man/man1/lyra.1`
    assert.equal(execFileSync('tar', ['-xzOf', archive, path], { encoding: 'utf8' }), page)
  })

  test('the Debian package can be installed, run and purged without deleting the store', async (t) => {
    const file = packed(t, 'amd64.deb')
    if (file === null) return
    if (process.env.LYRA_TEST_INSTALL !== '1' || process.getuid?.() !== 0) {
      return t.skip('set LYRA_TEST_INSTALL=1 to install it on this machine as root')
    }
    const apt = (...args: string[]) => execFileSync('apt-get', ['--yes', '--quiet', ...args])
    // A run that was ended in the middle of this leaves a half-installed package, and apt refuses to work.
    execFileSync('dpkg', ['--configure', '--pending', '--force-confold'], { stdio: 'ignore' })
    execFileSync('dpkg', ['--purge', '--force-remove-reinstreq', 'lyra'], { stdio: 'ignore' })
    apt('install', file)
    t.after(() => execFileSync('dpkg', ['--purge', 'lyra'], { stdio: 'ignore' }))
    assert.match(execFileSync('stat', ['--format=%U %a', '/var/lib/lyra']).toString(), /^lyra 750/)
    assert.match(execFileSync('stat', ['--format=%U %a', '/var/cache/lyra']).toString(), /^lyra 700/)
    assert.match(execFileSync('stat', ['--format=%G %a', '/etc/lyra/lyra.env']).toString(), /^lyra 640/)
    assert.match(
      readFileSync('/usr/lib/systemd/system/lyra.service', 'utf8'),
      /^ExecStart=\/usr\/bin\/lyra serve$/m,
    )
    const store = '/var/lib/lyra/lyra.db'
    const args = ['--user', 'lyra', '--', '/usr/bin/lyra', 'ingest', '--store', store, NAMED_SAMPLE]
    const folder = temporaryFolder(t)
    // The user lyra reads it.
    chmodSync(folder, 0o755)
    const sample = join(folder, 'sample.evts.gz')
    execFileSync('install', ['-m', '0644', NAMED_SAMPLE, sample])
    args[args.length - 1] = sample
    // That of the tests is not the user's.
    const { NODE_COMPILE_CACHE: _, ...env } = process.env
    assert.match(execFileSync('runuser', args, { env }).toString(), /^905 blocks ingested/)
    assert.ok(readdirSync('/var/cache/lyra').length > 0, 'compiled code is cached')
    assertSays(
      readFileSync('/usr/lib/systemd/system/lyra.service', 'utf8'),
      'file:///usr/share/doc/lyra/docs/install.md',
    )
    assertSays(execFileSync('dpkg-deb', ['-c', file]).toString(), './usr/share/doc/lyra/docs/install.md')
    assert.match(
      readFileSync('/usr/lib/systemd/system/lyra-receive.service', 'utf8'),
      /^ExecStart=\/usr\/bin\/lyra receive$/m,
    )
    // Maintenance commands have the settings of the service, its passwords too.
    writeFileSync('/etc/lyra/lyra.env', `LYRA_STORE="/var/lib/lyra/other.db"\n# text\n LYRA_STORE=${store}\n`)
    assertSays(execFileSync('runuser', ['--user', 'lyra', '--', 'lyra', 'status']).toString(), '1 to 905')
    const database = 'LYRA_STORE=postgres://lyra@127.0.0.1:1/markets\nPGPASSWORD=some word#1\n'
    writeFileSync('/etc/lyra/lyra.env', database)
    const away = spawnSync('runuser', ['--user', 'lyra', '--', 'lyra', 'status'], { encoding: 'utf8' })
    assertSays(away.stderr, 'postgres://lyra@127.0.0.1:1/markets...nothing listens there')
    // Who may not read them is told so, and writes no store of its own.
    const other = spawnSync('runuser', ['--user', 'nobody', '--', 'lyra', 'ingest', sample], {
      cwd: folder,
      encoding: 'utf8',
    })
    assert.equal(other.status, 2)
    assertSays(other.stderr, 'nobody may not read /etc/lyra/lyra.env...sudo -u lyra lyra ingest')
    writeFileSync('/etc/lyra/lyra.env', '')
    await upgradesAsUnderSystemd(t, store)
    apt('purge', 'lyra')
    assert.ok(!existsSync('/usr/bin/lyra') && !existsSync('/etc/lyra') && !existsSync('/usr/lib/lyra'))
    assert.ok(existsSync(store), 'the store is kept')
    assert.ok(!existsSync('/var/cache/lyra'), 'compiled code is deleted')
    execFileSync('rm', ['-rf', '/var/lib/lyra'])
  })
})
