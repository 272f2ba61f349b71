import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { everyCommand, nameOf, optionsOf } from '../../scripts/command-options.ts'
import { manPage } from '../../scripts/man-page.ts'
import { assertSays } from '../fixtures/assert-says.ts'
import { skip } from '../fixtures/shared.ts'
import { temporaryFolder } from '../fixtures/stores/stores.ts'

const PAGE = await manPage('1.2.3', '2026-01-31')

/** The page as a reader of `man` sees it, in one line. */
const shown = (text: string) => text.replaceAll(/\s+/g, ' ')

describe('The manual page', () => {
  test('is formatted by man without a warning', (t) => {
    if (spawnSync('man', ['--version']).status !== 0 || spawnSync('groff', ['--version']).status !== 0)
      return skip(t, 'man or groff is not installed')
    const file = join(temporaryFolder(t), 'lyra.1')
    writeFileSync(file, PAGE)
    const env = { ...process.env, LC_ALL: 'C.UTF-8', MANWIDTH: '200' }
    const { status, stdout, stderr } = spawnSync('man', ['--warnings', '--local-file', file], {
      env,
      encoding: 'utf8',
    })
    assert.deepEqual([status, stderr], [0, ''])
    const text = shown(stdout)
    assert.match(text, /^LYRA\(1\) User Commands LYRA\(1\) NAME lyra - serves /)
    assert.match(text, /Lyra 1\.2\.3 2026-01-31 LYRA\(1\)/)
    // Hyphens are such that an option can be copied.
    assertSays(text, '--event-log-keep <amount> How much of it stays')
    assertSays(text, 'Default: 127.0.0.1. Variable: LYRA_HOST.')
  })

  test('has every command, with every argument and option that its help shows', async () => {
    const sections = PAGE.split(/^\.SS /m).slice(1)
    const commands = await everyCommand()
    assert.equal(sections.length, commands.length)
    const common = PAGE.slice(PAGE.indexOf('.SH COMMON OPTIONS'))
    for (const [index, command] of commands.entries()) {
      const section = sections[index]!
      assert.ok(section.startsWith(`"lyra ${nameOf(command)}`), nameOf(command))
      for (const { description } of command.registeredArguments)
        assertSays(section.toLowerCase(), description.replaceAll('-', '\\-').toLowerCase())
      for (const { flags } of optionsOf(command)) {
        const item = `.TP\n\\fB${flags.replaceAll('-', '\\-')}\\fR\n`
        const named = section.includes(flags.split(' ')[0]!.replaceAll('-', '\\-'))
        assert.ok(section.includes(item) || (named && common.includes(item)), `${nameOf(command)} ${flags}`)
      }
    }
    // What help says after the options.
    assertSays(PAGE, 'A reader waits until the store can be read.')
  })

  test('begins no line of text with what would be a macro', () => {
    const macros = new Set(PAGE.match(/^[.'].{0,2}/gm))
    assert.deepEqual([...macros].sort(), ['.PP', '.SH', '.SS', '.TH', '.TP', '.ad', '.br', '.nh'])
  })
})
