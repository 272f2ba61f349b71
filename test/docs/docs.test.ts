import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import type { Command } from 'commander'
import { RESOURCES } from '#core/resources/resources'
import { openApiDocument } from '#service/openapi/openapi'
import { loadCommands } from '#tools/cli/program'
import { command as receiveCommand } from '#tools/cli/receive'
import { command as serveCommand } from '#tools/cli/serve'
import { generatedPages } from '../../scripts/build-docs.ts'
import { PICTURE_FOLDER, PICTURES } from '../../scripts/build-pictures.ts'
import { EXPLORER_PICTURES } from '../../scripts/explorer-pictures.ts'
import { brokenLinks, type CodeBlock, documentedPages, inlineCode, ROOT } from '../fixtures/documentation.ts'
import { joinRecords, readRecording, recordsOf } from '../fixtures/events/event-stream.ts'
import { runSql } from '../fixtures/imports/reference-database.ts'
import { send } from '../fixtures/requests/http.ts'
import { startLive } from '../fixtures/services/live.ts'
import { MAIN, runWell, startProgram } from '../fixtures/services/program.ts'
import { CLIENT_PATH, PYTHON, skipsWithoutPython } from '../fixtures/services/python.ts'
import { storeOf, storeOfBytes } from '../fixtures/services/service.ts'
import { MONTH, referencePath, skip } from '../fixtures/shared.ts'
import { postgresProgram } from '../fixtures/stores/postgres-server.ts'
import { sqlite, temporaryFolder } from '../fixtures/stores/stores.ts'

const PAGES = documentedPages()
/** Every command of the program. */
const COMMANDS = await loadCommands()

/** The addresses of the service and the database in the documentation. */
const DOCUMENTED_SERVICE = /http:\/\/127\.0\.0\.1:3008\b/g
const DOCUMENTED_DATABASE = /postgres:\/\/lyra@[\w.-]+\/markets\b/g

/** How a block is run, as a script of its own. Blocks in other languages are not run. */
const INTERPRETERS: Record<string, { file: string; command: string; args: string[] }> = {
  sh: { file: 'page.sh', command: 'bash', args: ['-euo', 'pipefail'] },
  ts: { file: 'page.ts', command: process.execPath, args: ['--conditions=source'] },
  python: { file: 'page.py', command: PYTHON, args: ['-X', 'dev', '-W', 'ignore'] },
}

const CURL = spawnSync('which', ['curl'], { encoding: 'utf8' }).stdout.trim()

/** A service on the sample, and a store of {@link WEEK}, of which each block gets a copy. */
type Sample = { base: string; store: string }

/** The first week of the sample: commands that read everything take a quarter of the time. */
const WEEK = joinRecords(recordsOf(readRecording(MONTH)).filter(({ height }) => height < 700))

function isRun({ language, reason }: CodeBlock): boolean {
  return language in INTERPRETERS && reason === null
}

const usesDatabase = ({ text }: CodeBlock) => text.search(DOCUMENTED_DATABASE) >= 0

/** A folder such as a reader has: a store, event files, the checkout's examples. */
function makeFolder(t: TestContext, { store }: Sample): string {
  const folder = temporaryFolder(t)
  for (const name of ['lyra.db', 'other.db']) copyFileSync(store, join(folder, name))
  writeFileSync(join(folder, 'events.evts.gz'), WEEK)
  symlinkSync(referencePath('segments/perps-calm-300')!, join(folder, 'segments'))
  for (const name of ['events', 'archive', 'sample']) {
    mkdirSync(join(folder, name))
    writeFileSync(join(folder, name, 'month.evts.gz'), WEEK)
  }
  for (const name of ['client', 'node_modules', 'deploy']) symlinkSync(join(ROOT, name), join(folder, name))
  return folder
}

/** Runs a page's blocks of one language in one program; returns the output of each. */
async function runBlocks(
  t: TestContext,
  blocks: readonly CodeBlock[],
  { sample, database }: { sample: Sample; database: string | null },
): Promise<string> {
  const { language } = blocks[0]!
  const { file, command, args } = INTERPRETERS[language]!
  const folder = makeFolder(t, sample)
  // The last place in the output identifies the block that failed.
  const text = blocks
    .map((block) => (language === 'sh' ? `echo '# ${block.place}' >&2\n${block.text}` : block.text))
    .join('\n')
    .replaceAll(DOCUMENTED_SERVICE, sample.base)
    .replaceAll(DOCUMENTED_DATABASE, database ?? '')
  writeFileSync(join(folder, file), text)
  const programs = [
    join(import.meta.dirname, '../clients/documented'),
    dirname(process.execPath),
    dirname(postgresProgram('pg_dump') ?? '/usr/bin/pg_dump'),
    process.env.PATH,
  ]
  const { code, stdout, stderr } = await startProgram(t, command, [...args, file], {
    cwd: folder,
    env: {
      PATH: programs.join(delimiter),
      LYRA_MAIN: MAIN,
      LYRA_CURL: CURL,
      PYTHONPATH: CLIENT_PATH,
    },
  }).outcome
  const [{ place }] = blocks as [CodeBlock]
  assert.equal(code, 0, `${place}:\n${stderr.slice(-3_000)}\n${stdout.slice(-1_000)}`)
  return stdout
}

test('The examples in the documentation', { concurrency: 4 }, async (t) => {
  const store = await storeOfBytes(t, sqlite, WEEK)
  const eventLog = join(temporaryFolder(t), 'log')
  const { base } = await startLive(t, await storeOf(t, sqlite, MONTH), eventLog, [
    '--grpc',
    '127.0.0.1:0',
    '--market-metrics',
  ])
  const sample: Sample = { base, store }

  const running: Promise<void>[] = []
  const run = (name: string, body: (t: TestContext) => Promise<void>) => void running.push(t.test(name, body))
  /** Blocks that several pages show are run once. */
  const known = new Set<string>()
  const isNew = ({ text }: CodeBlock) => known.size < known.add(text).size
  for (const page of PAGES) {
    for (const language of Object.keys(INTERPRETERS)) {
      const blocks = page.blocks.filter(
        (block) => block.language === language && isRun(block) && isNew(block),
      )
      const plain = blocks.filter((block) => !usesDatabase(block) && block.prints === null)
      for (const block of blocks.filter(({ prints }) => prints !== null)) {
        run(`${block.place} prints the output shown`, async (t) => {
          if (CURL === '') return skip(t, 'curl is not installed')
          const printed = await runBlocks(t, [block], { sample, database: null })
          assert.equal(printed.slice(0, block.prints!.length), block.prints)
        })
      }
      if (plain.length > 0) {
        run(`${page.path}: ${language}`, async (t) => {
          for (const { place, text } of plain) {
            assert.doesNotMatch(
              text,
              /^npm (?!run --silent lyra)/m,
              `${place}: a comment before it must say why it is not run`,
            )
          }
          if (language === 'sh' && CURL === '') return skip(t, 'curl is not installed')
          if (language === 'python' && skipsWithoutPython(t, 'httpx')) return
          await runBlocks(t, plain, { sample, database: null })
        })
      }
      const withDatabase = blocks.filter(usesDatabase)
      if (withDatabase.length > 0) {
        run(`${page.path}: PostgreSQL`, async (t) => {
          if (!process.env.LYRA_TEST_POSTGRES) return skip(t, 'PostgreSQL is not tested (LYRA_TEST_STORE)')
          const database = await createDatabase(t, page.path)
          await runWell(t, `copy --from ${sample.store} --to ${database}`)
          await runBlocks(t, withDatabase, { sample, database })
        })
      }
    }
  }

  run('the dashboards and the alerts use metrics that the service has', async () => {
    const texts = ['/metrics', '/metrics/markets'].map(async (path) => (await send(sample.base, path)).text)
    const text = (await Promise.all(texts)).join('')
    const known = new Set([...text.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name))
    for (const file of globSync('{grafana,prometheus}/*', { cwd: join(ROOT, 'deploy') })) {
      const used = readFileSync(join(ROOT, 'deploy', file), 'utf8').match(
        /\b(?:lyra|process|nodejs)_[a-z0-9_]+/g,
      )
      assert.ok(used !== null, file)
      for (const name of used) {
        assert.ok(known.has(name.replace(/_(?:bucket|count|sum)$/, '')), `${file}: ${name}`)
      }
    }
    const monitor = PAGES.find(({ path }) => path === 'docs/monitor.md')!.text
    const described = new Set([...text.matchAll(/^# HELP (\w+) \S/gm)].map(([, name]) => name))
    for (const name of known) assert.ok(described.has(name), `${name} has no description`)
    const alerts = ['alerts.yml', 'markets.yml']
      .map((name) => readFileSync(join(ROOT, 'deploy/prometheus', name), 'utf8'))
      .join('')
    for (const [, name] of alerts.matchAll(/- alert: (\w+)/g)) {
      const anchor = name!.toLowerCase()
      const row = `| \`${name}\` | <a id="${anchor}"></a>`
      assert.ok(monitor.includes(row), `docs/monitor.md lacks ${name}`)
      assert.ok(alerts.includes(`runbook_url: "docs/monitor.md#${anchor}"`), `${name} has no runbook_url`)
    }
  })
  await Promise.all(running)
})

describe('The documentation', () => {
  test('gives a reason for each block that is not run', () => {
    const reasons = PAGES.flatMap(({ blocks }) => blocks).filter(({ reason }) => reason !== null)
    assert.ok(reasons.length > 0)
    for (const { place, reason, language } of reasons) {
      assert.ok(language in INTERPRETERS, `${place}: its language is not run`)
      assert.match(reason!, /\w+ \w+/, place)
    }
    for (const { text, language, place } of PAGES.flatMap(({ blocks }) => blocks)) {
      if (language === '')
        assert.doesNotMatch(text, /^(?:lyra|npm|curl|docker) /m, `${place} is not marked sh`)
    }
  })

  test('names every request, stream and method of gRPC', () => {
    const textOf = (name: string) => PAGES.find(({ path }) => path === name)!.text
    const { paths } = openApiDocument('0') as { paths: Record<string, object> }
    const requests = Object.keys(paths).filter((path) => !/^\/api\/v2\/(?:stream|export)\//.test(path))
    const methods = RESOURCES.flatMap(({ grpcMethod }) => grpcMethod ?? [])
    for (const [page, names] of [
      ['docs/api.md', [...requests, ...methods]],
      ['docs/streams.md', RESOURCES.map(({ kebabName }) => kebabName)],
    ] as const) {
      assert.ok(names.length > 5, page)
      for (const name of names) assert.ok(textOf(page).includes(`\`${name}\``), `${page} lacks ${name}`)
    }
  })

  test('has no dead links', () => {
    assert.deepEqual(brokenLinks(PAGES), [])
  })

  test('names only scripts that exist', () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
    const named = PAGES.flatMap(({ text }) => [...text.matchAll(/\bnpm run (?:--silent )?([\w:]+)/g)])
    assert.ok(named.length > 0)
    for (const [text, name] of named) assert.ok(name! in scripts, text)
  })

  test('names only flags that the program has', () => {
    const helps = COMMANDS.map((command) => [command.name(), optionsOf(command)] as const)
    const options = new Map(helps)
    const ofBench = readFileSync(join(ROOT, 'bench/run.ts'), 'utf8').match(/--[a-z]+/g) ?? []
    const known = new Set([...helps.flatMap(([, flags]) => [...flags.keys()]), ...ofBench])
    for (const page of PAGES) {
      const code = [
        ...page.blocks.filter(({ language }) => language === 'sh').map(({ text }) => text),
        ...inlineCode(page),
      ]
      for (const [call, command, rest] of code.flatMap((text) => [...commandsIn(text)])) {
        const flags = options.get(command!)
        assert.ok(flags !== undefined, `${page.path}: ${call}`)
        for (const [flag] of rest!.matchAll(/--[a-z][\w-]*/g)) {
          assert.ok(flags.has(flag), `${page.path}: ${call}: ${flag}`)
        }
      }
      for (const text of inlineCode(page)) {
        const flag = /^--[a-z][\w-]*/.exec(text)?.[0]
        if (flag === undefined || text.startsWith('--conditions=')) continue
        assert.ok(known.has(flag), `${page.path}: ${text}`)
      }
    }
  })

  test('quotes only messages that the program has', () => {
    const sources = globSync('src/**/*.ts', { cwd: ROOT })
    const program = sources.map((path) => readFileSync(join(ROOT, path), 'utf8')).join('\n')
    const quoted = PAGES.flatMap(({ path, text }) => {
      const tables = text.split('\n\n').filter((part) => /^\| (?:log )?message \|/.test(part))
      const rows = tables.flatMap((table) => table.split('\n').slice(2))
      const cells = rows.map((row) => row.split(' | ')[0]!)
      return cells.flatMap((cell) =>
        [...cell.matchAll(/`([^`]+)`/g)].map(([, code]) => [path, code!] as const),
      )
    })
    assert.ok(quoted.length > 8)
    for (const [path, message] of quoted) {
      if (/^E[A-Z]+$/.test(message)) continue
      for (const fixed of message.split(/\.\.\.| N /).filter((part) => part.trim() !== ''))
        assert.ok(program.includes(fixed.trim()), `${path}: ${message}`)
    }
  })

  test('has an up-to-date page of all settings, and tables of all resources (npm run build:docs)', async () => {
    for (const [path, text] of await generatedPages())
      assert.equal(readFileSync(join(ROOT, path), 'utf8'), text, `${path}: run npm run build:docs`)
  })

  test('has up-to-date pictures, each on a page (npm run build:pictures)', () => {
    const files = readdirSync(PICTURE_FOLDER).sort()
    assert.deepEqual(files, [...Object.keys(PICTURES), ...EXPLORER_PICTURES].sort())
    for (const [name, picture] of Object.entries(PICTURES))
      assert.equal(readFileSync(join(PICTURE_FOLDER, name), 'utf8'), picture, name)
    for (const name of files) {
      const isShown = PAGES.some(({ text }) => text.includes(`images/${name}`))
      assert.ok(isShown, `no page shows ${name}`)
    }
  })

  test('uses only settings that the program has in deploy/', () => {
    const known = new Set([serveCommand(), receiveCommand()].flatMap((one) => [...optionsOf(one).values()]))
    for (const file of [
      'lyra.service',
      'lyra-receive.service',
      'lyra.env.example',
      'Dockerfile',
      'docker-compose.yml',
    ]) {
      const text = readFileSync(join(ROOT, 'deploy', file), 'utf8')
      for (const [name] of text.matchAll(/\bLYRA_\w+/g)) {
        assert.ok(known.has(name) || name === 'LYRA_DB_PASSWORD', `${file}: ${name}`)
      }
    }
  })
})

/** Creates a database that is dropped when the test ends. */
async function createDatabase(t: TestContext, path: string): Promise<string> {
  const server = process.env.LYRA_TEST_POSTGRES!
  const name = `documented_${process.pid}_${path.replaceAll(/\W/g, '_')}`.toLowerCase()
  await runSql(server, `create database ${name}`)
  t.after(() => runSql(server, `drop database if exists ${name} with (force)`))
  const url = new URL(server)
  url.pathname = `/${name}`
  return url.toString()
}

/** Calls of the program in a text: the whole call, its command and its arguments. */
function commandsIn(text: string): IterableIterator<RegExpExecArray> {
  return text
    .replaceAll('\\\n', ' ')
    .matchAll(
      /(?<=^|\s)(?<!docker exec )lyra (?!lyra\b)([a-z]+)\b((?:[^\n|>#&;]|(?<=\S)#)*)/gm,
    ) as IterableIterator<RegExpExecArray>
}

/** The flags in a command's help, each with its environment variable. */
function optionsOf(command: Command): Map<string, string | null> {
  if (command.commands.length > 0) return new Map(command.commands.flatMap((part) => [...optionsOf(part)]))
  const help = command.helpInformation()
  const entries = help.slice(help.indexOf('Options:')).split(/\n {2}(?=--)/)
  const options = entries
    .slice(1)
    .map((entry) => [/^--[\w-]+/.exec(entry)![0], /env:\s+(LYRA_\w+)/.exec(entry)?.[1] ?? null] as const)
  assert.notEqual(options.length, 0, command.name())
  return new Map(options)
}
