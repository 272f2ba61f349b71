import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { loadCommands } from '#tools/cli/program'
import { command as serveCommand } from '#tools/cli/serve'
import { assertSays } from '../fixtures/assert-says.ts'
import { statusOf } from '../fixtures/requests/http.ts'
import { openServer } from '../fixtures/services/port.ts'
import {
  addressOf,
  assertFails,
  runLyra,
  runWell,
  startLyra,
  startService,
} from '../fixtures/services/program.ts'
import { SAMPLE } from '../fixtures/shared.ts'
import { temporaryFolder } from '../fixtures/stores/stores.ts'

describe('the command line', () => {
  test('--help names every command, and each command explains itself', async (t) => {
    const { stdout, code } = await runLyra(t, '--help')
    assert.equal(code, 0)
    for (const command of 'ingest serve status check verify prune backup generate'.split(' ')) {
      assert.match(stdout, new RegExp(`^ {2}${command}`, 'm'))
      const help = await runWell(t, `${command} --help`)
      assert.match(help.stdout, new RegExp(`Usage: (lyra )?${command}`))
      for (const flag of help.stdout.matchAll(/^ {2}--(?!help)([a-z-]+)/gm)) {
        assert.match(
          help.stdout.slice(flag.index).replaceAll(/\s+/g, ' '),
          /env: LYRA_/,
          `--${flag[1]} has an environment variable`,
        )
      }
    }
  })

  test('help and errors end silently when their reader stops early', async (t) => {
    for (const [command, closed, code] of [
      ['serve --help', 'stdout', 0],
      ['fly', 'stderr', 2],
    ] as const) {
      const program = startLyra(t, command)
      program.child[closed]!.destroy()
      const outcome = await program.outcome
      assert.deepEqual(outcome, { code, signal: null, stdout: '', stderr: '' })
    }
  })

  test('every option of serve is declared as a setting, and used', () => {
    const root = join(import.meta.dirname, '../../src')
    const declared = 'service/serve/settings.ts'
    const others = [
      'tools/cli/serve.ts',
      ...readdirSync(join(root, 'service/serve'), { encoding: 'utf8' }).map(
        (name) => `service/serve/${name}`,
      ),
    ].filter((name) => name.endsWith('.ts') && name !== declared)
    const textOf = (names: string[]) => names.map((name) => readFileSync(join(root, name), 'utf8')).join('\n')
    for (const option of serveCommand().options.filter(({ hidden }) => !hidden)) {
      const name = option.attributeName()
      assert.match(textOf([declared]), new RegExp(`^  ${name}: `, 'm'), `${option.flags} is no setting`)
      assert.match(textOf(others), new RegExp(`\\b${name}\\b`), `${option.flags} is not used`)
    }
  })

  test('--version prints the package version, and the commit of a checkout', async (t) => {
    const { stdout, code } = await runLyra(t, '--version')
    assert.equal(code, 0)
    assert.match(stdout, /^\d+\.\d+\.\d+( \([0-9a-f]{12}\))?\n$/)
    assert.equal(stdout.includes('('), existsSync(join(import.meta.dirname, '../../.git')))
  })

  test('--help lists all commands, without loading them, and help prints the help of one', async (t) => {
    const { stdout, code } = await runLyra(t, '--help')
    assert.equal(code, 0)
    const listed = [...stdout.matchAll(/^ {2}(\w+) {2,}\w/gm)].map(([, name]) => name)
    // A command that was loaded would be listed with its arguments.
    const commands = (await loadCommands()).map((command) => command.name())
    assert.deepEqual(listed, commands)
    const [helped, own] = await Promise.all([runLyra(t, 'help gap'), runLyra(t, 'gap --help')])
    assert.match(helped.stdout, /^ {2}accept \[options\] <from> <to> {2}let live ingestion continue/m)
    assert.deepEqual(helped, own)
  })

  /** Commands that are wrong, and commands that fail. */
  const wrong: Record<string, string | RegExp> = {
    fly: "unknown command 'fly'; see lyra --help",
    'ingest --fast x': "unknown option '--fast'",
    ingest: "missing required argument 'path'; see lyra ingest --help",
    'serve --port 70000': '--port...70000...0 to 65535',
    'serve --rate-limit 0': '--rate-limit',
    'serve --cors-origin example.org': 'is not an origin',
    'serve --log-level loud': '--log-level...loud',
    'export checkpoints --from 1725235200': '--from...too few digits for Unix nanoseconds...36h',
    generate: '--blocks',
    'generate --blocks 0': '--blocks must be from 1',
    'status --store a.db --url http://127.0.0.1:1': '--store and --url cannot be combined; give one of them',
    'status --url 127.0.0.1:3008': '--url...http://127.0.0.1:3008',
    'verify a.evts --store b.db': 'give either event files or --store, not both',
    'verify --market xyz': '--market...64 hex digits',
    'verify --seq -1': '--seq...whole number',
    'verify --method guess': '--method...running-sum',
    'verify a.evts --interest-rate ten': '--interest-rate...decimal number',
    'verify a.evts --clamp-lower-bound=': '--clamp-lower-bound...decimal number',
    'verify a.evts --clamp-upper-bound 0x1': '--clamp-upper-bound...decimal number',
    'verify a.evts --scaling-factor 1e99999': '--scaling-factor...decimal number',
    'verify a.evts --rate-lower-bound -': '--rate-lower-bound...decimal number',
    'verify a.evts --rate-upper-bound NaN': '--rate-upper-bound...decimal number',
    'serve --forward 127.0.0.1:3015': 'it needs --listen',
    'serve --forward 127.0.0.1:3015 --listen 127.0.0.1:3015': '--forward and --listen name the same address',
    'serve --listen-from 10.0.0.0/33': '10.0.0.0/33" is not an address or network',
    prune: '--before',
    'prune --before yesterday': '--before...It is not a time. Allowed: ...2026-01-31T12:00:00Z...height',
    'serve --keep 90': '--keep...36h, 90d or 12w',
    'serve --listen-from core.example': 'core.example" is not an address',
  }
  const fails: Record<string, string | RegExp> = {
    'ingest no-such.evts': 'no-such.evts: no such file',
    'serve no-such.evts': 'no-such.evts: no such file',
    'verify no-such.evts': 'no-such.evts: no such file',
    'check no-such.evts': 'no-such.evts: no such file',
    'status --store no-such.db': 'no-such.db: no such file',
    'prune --store no-such.db --before 5': 'no-such.db: no such file',
    'verify --store no-such.db': 'no-such.db: no such file',
    'check --store no-such.db': 'no-such.db: no such file',
    'serve --keep 1d --store a/b/c.db': 'a/b/c.db: ...cannot be opened',
    'status --url http://127.0.0.1:3': ':3: unreachable ...check the address',
  }
  for (const [commands, code] of [
    [wrong, 2],
    [fails, 1],
  ] as const) {
    for (const [command, message] of Object.entries(commands)) {
      test(`the fault of lyra ${command} is reported in one line, and nothing is created`, async (t) => {
        const folder = temporaryFolder(t)
        await assertFails(t, command, message, code, { cwd: folder })
        assert.deepEqual(readdirSync(folder), [])
      })
    }
  }

  test('wrong values in the environment are reported by the names of their variables', async (t) => {
    for (const [env, message] of [
      [{ LYRA_PORT: 'x' }, 'LYRA_PORT'],
      [{ LYRA_MARKET_METRICS: '2' }, 'LYRA_MARKET_METRICS must be true or false, not "2"'],
      [{ LYRA_STRICT: 'maybe' }, 'LYRA_STRICT must be true or false, not "maybe"'],
    ] as [Record<string, string>, string][])
      await assertFails(t, 'serve', message, 2, { cwd: temporaryFolder(t), env })
  })

  test('a port in use is reported in one line', async (t) => {
    const address = await openServer(t, createServer())
    const [, port] = address.split(':')
    const says = `lyra: ${address}: the port is in use`
    await assertFails(t, `serve --keep 1d --port ${port}`, says, 1, { cwd: temporaryFolder(t) })
  })

  test('ingest prints a report, as text and as JSON', async (t) => {
    const store = join(temporaryFolder(t), 'a.db')
    const people = await runWell(t, `ingest --store ${store} ${SAMPLE}`)
    assert.match(people.stdout, /^905 blocks ingested, 7,881 records seen/)
    assertSays(people.stdout, 'funding period data points: 2,298 rows more')
    const machines = await runLyra(t, `ingest --json ${SAMPLE}`, { env: { LYRA_STORE: store } })
    const report = JSON.parse(machines.stdout.trimEnd().split('\n').at(-1)!) as Record<string, unknown>
    const { type, blocks, heldBlocks, height, error } = report
    assert.deepEqual([type, blocks, heldBlocks, height, error], ['report', 0, 905, '905', null])
  })

  test('serve names unknown variables, and settings that have no effect', async (t) => {
    const store = join(temporaryFolder(t), 'a.db')
    const env = { LYRA_LITSEN: '127.0.0.1:1', LYRA_EVENT_LOG_KEEP: '1GiB', LYRA_STRICT: 'no', LYRA_PORT: '0' }
    const service = startLyra(t, `serve --store ${store} --chain some --allow-gap`, { env })
    await addressOf(service)
    const warnings = [...service.output.stderr.matchAll(/"level":40.*"msg":"(.*)"/g)].map(([, text]) => text)
    assert.deepEqual(warnings.slice(0, 4), [
      '--chain has no effect without --listen or --follow',
      '--event-log-keep has no effect without --listen',
      '--allow-gap has no effect without --listen, --follow or a file',
      'LYRA_LITSEN is no setting of lyra serve; see lyra serve --help',
    ])
  })

  test('variables of an earlier version still count, with a warning that names the successor', async (t) => {
    const folder = temporaryFolder(t)
    const args = `serve --port 0 --store ${join(folder, 'a.db')} --listen 127.0.0.1:0`
    const env = { LYRA_BUFFER: join(folder, 'buffer'), LYRA_KEEP_BUFFER: 'yes', LYRA_FORWARD_MB: '64' }
    const service = startLyra(t, args, { env })
    await addressOf(service)
    const { stderr } = service.output
    assertSays(stderr, 'LYRA_BUFFER: ...; name that with LYRA_EVENT_LOG instead')
    assertSays(stderr, 'LYRA_KEEP_BUFFER: ...; say so with LYRA_EVENT_LOG_KEEP=all instead')
    assertSays(stderr, 'LYRA_FORWARD_MB: ...; say so with LYRA_EVENT_LOG_KEEP=64MiB instead')
    assert.ok(existsSync(join(folder, 'event-log')), 'the event log is beside the buffer')
  })

  test('serve stops in order after SIGHUP, and opens no debugger after SIGUSR1', async (t) => {
    if (process.platform === 'win32') return t.skip('Windows has no such signals')
    const { service, base } = await startService(t, ['--store', join(temporaryFolder(t), 'a.db')])
    service.child.kill('SIGUSR1')
    assert.equal(await statusOf(base, '/health'), 200)
    service.child.kill('SIGHUP')
    const { code, stderr } = await service.outcome
    assert.equal(code, 0)
    assertSays(stderr, 'SIGHUP: stopping')
    assert.doesNotMatch(stderr, /Debugger/)
  })

  test('serve returns memory to the system, and keeps its process id', async (t) => {
    if (process.platform !== 'linux') return t.skip('the setting exists on Linux only')
    const limitOf = async (env: Record<string, string>) => {
      const store = join(temporaryFolder(t), 'a.db')
      const service = startLyra(t, `serve --port 0 --store ${store}`, { env })
      await service.printed(/(http:\/\/127\.0\.0\.1:\d+)/)
      const environment = readFileSync(`/proc/${service.child.pid}/environ`, 'utf8').split('\0')
      return environment.filter((entry) => entry.startsWith('MALLOC_'))
    }
    const limits = ['MALLOC_ARENA_MAX=2', 'MALLOC_MMAP_THRESHOLD_=1048576', 'MALLOC_TRIM_THRESHOLD_=1048576']
    assert.deepEqual((await limitOf({})).sort(), limits)
    assert.deepEqual(await limitOf({ MALLOC_MMAP_THRESHOLD_: '65536' }), ['MALLOC_MMAP_THRESHOLD_=65536'])
    assert.deepEqual(await limitOf({ MALLOC_TRIM_THRESHOLD_: '65536' }), ['MALLOC_TRIM_THRESHOLD_=65536'])
  })
})
