import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { documentedPages, ROOT } from '../fixtures/documentation.ts'
import { skip } from '../fixtures/shared.ts'
import { temporaryFolder } from '../fixtures/stores/stores.ts'

const textOf = (path: string) => readFileSync(join(ROOT, path), 'utf8')

/** The documented lines with a command that is in a page only once. */
function documentedLine(path: string, start: string): string {
  const lines = documentedPages()
    .find((page) => page.path === path)!
    .blocks.flatMap(({ text }) => text.split('\n'))
    .filter((line) => line.startsWith(start))
  assert.equal(lines.length, 1, `${path}: ${start}`)
  return lines[0]!
}

describe('A release', () => {
  test('has sums that are signed and verified as documented; a changed package or list is found', (t) => {
    if (spawnSync('gpg', ['--version']).status !== 0) return skip(t, 'gpg is not installed')
    const folder = temporaryFolder(t)
    const run = (line: string) => {
      const env = { ...process.env, GNUPGHOME: folder }
      return spawnSync('bash', ['-euo', 'pipefail', '-c', line], { cwd: folder, env, encoding: 'utf8' })
    }
    const works = (line: string) => {
      const { status, stderr } = run(line)
      assert.equal(status, 0, `${line}: ${stderr}`)
    }
    t.after(() => run('gpgconf --kill all'))
    for (const name of ['one.deb', 'other.tgz']) writeFileSync(join(folder, name), name)
    works('sha256sum one.deb other.tgz > SHA256SUMS')
    works("gpg --batch --quiet --passphrase '' --quick-generate-key publisher ed25519 sign never")
    works(`${documentedLine('CONTRIBUTING.md', 'gpg --armor --detach-sign')}`)

    const verify = documentedLine('docs/install.md', 'gpg --verify')
    const check = documentedLine('docs/install.md', 'sha256sum --check')
    works(verify)
    works(check)
    works(`rm other.tgz; ${check}`)
    writeFileSync(join(folder, 'one.deb'), 'another')
    assert.equal(run(check).status, 1)
    works('sha256sum one.deb > SHA256SUMS')
    works(check)
    assert.equal(run(verify).status, 1)
  })

  test('is not published while SECURITY.md has no address for reports', () => {
    const isPlaceholder = textOf('SECURITY.md').includes('<!-- TO PUBLISH:')
    const isReleased = !textOf('CHANGELOG.md').includes(' - unreleased\n')
    assert.ok(!(isPlaceholder && isReleased), 'replace the paragraph of SECURITY.md that has no address')
  })
})

describe('What is stable', () => {
  const page = textOf('docs/stability.md')
  const rows = [...page.matchAll(/^\| (?!part|---)(.*) \|$/gm)].map(([, row]) => row!.split(' | '))

  test('is held by the tests that the page names', () => {
    assert.ok(rows.length > 12)
    for (const cells of rows) {
      assert.equal(cells.length, 4, String(cells[0]))
      const tests = [...cells[3]!.matchAll(/`([\w-]+)`/g)].map(([, name]) => name!)
      assert.ok(tests.length > 0, String(cells[0]))
      for (const name of tests)
        assert.equal(globSync(`test/**/${name}.test.ts`, { cwd: ROOT }).length, 1, name)
    }
  })

  test('of the image and the units are the names that their users know', () => {
    const image = textOf('deploy/Dockerfile')
    for (const line of ['useradd --uid 1000', 'VOLUME /data', 'EXPOSE 3005 3007 3008', 'ENTRYPOINT ["lyra"]'])
      assert.ok(image.includes(line), line)
    for (const line of ['LYRA_STORE=/data/lyra.db', 'LYRA_EVENT_LOG=/data/event-log'])
      assert.ok(image.includes(line), line)
    const units = globSync('deploy/*.service', { cwd: ROOT }).sort()
    assert.deepEqual(units, [
      'deploy/lyra-reader@.service',
      'deploy/lyra-receive.service',
      'deploy/lyra.service',
    ])
    const unit = textOf('deploy/lyra.service')
    for (const path of ['/usr/bin/lyra serve', '/var/lib/lyra/lyra.db', '/etc/lyra/lyra.env'])
      assert.ok(unit.includes(path), path)
  })
})
