import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import * as client from '#client/index'
import { RESOURCES } from '#core/resources/resources'
import { VIEWS } from '#core/store/views/views'
import { openApiDocument } from '#service/openapi/openapi'
import { EXIT } from '#tools/cli/exit'
import { everyCommand, nameOf, optionsOf } from '../../scripts/command-options.ts'
import { ROOT } from '../fixtures/documentation.ts'
import { send } from '../fixtures/requests/http.ts'
import { startLive } from '../fixtures/services/live.ts'
import { runWell } from '../fixtures/services/program.ts'
import { NAMED_SAMPLE } from '../fixtures/shared.ts'
import { temporaryFolder } from '../fixtures/stores/stores.ts'

/*
 * The names that docs/stability.md promises to keep are recorded: of requests, parameters, fields, methods, options, variables,
 * reports, views and metrics. New ones may be there at any time. To record them, or what the page allows to remove, run
 * this test with LYRA_WRITE_PUBLIC_NAMES=1 and review the change; a release does so.
 */

const FILE = join(import.meta.dirname, './public-names.txt')

type Schema = { properties?: Record<string, object>; enum?: string[] }
type Parameter = { name: string; in: string }
type Operation = { get: { parameters?: (Parameter | { $ref: string })[] } }
type Document = {
  paths: Record<string, Operation>
  components: { schemas: Record<string, Schema>; parameters?: Record<string, Parameter> }
}

function apiNames(): string[] {
  const { paths, components } = openApiDocument('0') as Document
  const parameterOf = (parameter: Parameter | { $ref: string }): Parameter =>
    '$ref' in parameter ? components.parameters![parameter.$ref.split('/').at(-1)!]! : parameter
  const requests = Object.entries(paths).flatMap(([path, { get }]) => [
    `request ${path}`,
    ...(get.parameters ?? [])
      .map(parameterOf)
      .map((parameter) => `request ${path} ${parameter.in} ${parameter.name}`),
  ])
  const schemas = Object.entries(components.schemas).flatMap(([name, schema]) => [
    `schema ${name}`,
    ...Object.keys(schema.properties ?? {}).map((field) => `schema ${name}.${field}`),
    ...(schema.enum ?? []).map((value) => `schema ${name} value ${value}`),
  ])
  const methods = RESOURCES.flatMap(({ grpcMethod }) => grpcMethod ?? [])
  return [...requests, ...schemas, ...methods.map((name) => `grpc ${name}`)]
}

async function commandNames(): Promise<string[]> {
  const options = (await everyCommand()).flatMap((command) => [
    `command ${nameOf(command)}`,
    ...optionsOf(command).flatMap(({ flags, variable, choices }) => [
      `command ${nameOf(command)} ${flags.split(' ')[0]}`,
      ...(variable === null ? [] : [`command ${nameOf(command)} variable ${variable}`]),
      ...choices.map((choice) => `command ${nameOf(command)} ${flags.split(' ')[0]} ${choice}`),
    ]),
  ])
  return [...options, ...Object.entries(EXIT).map(([name, status]) => `exit status ${status} ${name}`)]
}

/** The fields of a report, `blocks.gaps[].from`; those of lists that are empty here are not seen. */
function fieldsOf(value: unknown, path = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((element) => fieldsOf(element, `${path}[]`))
  if (value === null || typeof value !== 'object') return []
  return Object.entries(value).flatMap(([name, part]) => {
    const field = path === '' ? name : `${path}.${name}`
    return [field, ...fieldsOf(part, field)]
  })
}

async function reportNames(t: TestContext): Promise<string[]> {
  const store = join(temporaryFolder(t), 'a.db')
  const found: string[] = []
  for (const [name, rest] of [
    ['ingest', NAMED_SAMPLE],
    ['status', ''],
    ['check', ''],
    ['verify', ''],
    ['prune', '--before 10 --dry-run'],
  ] as const) {
    const typed = `${name} --json --store ${store} ${rest}`.trim()
    const { stdout } = await runWell(t, typed)
    // Commands that report progress print lines, the report last.
    const report = JSON.parse(name === 'ingest' ? stdout.trim().split('\n').at(-1)! : stdout)
    // Those in `rows` of the check are tables.
    const fields = fieldsOf(report).filter((field) => name !== 'check' || !field.startsWith('rows.'))
    found.push(...fields.map((field) => `report ${name} ${field}`))
  }
  return found
}

async function metricNames(t: TestContext): Promise<string[]> {
  const folder = temporaryFolder(t)
  const { base } = await startLive(t, join(folder, 'a.db'), join(folder, 'log'), ['--grpc', '127.0.0.1:0'])
  const { text } = await send(base, '/metrics')
  return [...text.matchAll(/^# TYPE (lyra_\w+) (\w+)/gm)].map(([, name, kind]) => `metric ${name} ${kind}`)
}

function clientNames(): string[] {
  const python = (file: string) => readFileSync(join(ROOT, 'python/src/lyra_client', file), 'utf8')
  const [, list] = /__all__ = \[([^\]]*)\]/.exec(python('__init__.py'))!
  const methods = `${python('client.py')}${python('resources.py')}`.matchAll(/^ {4}def ([a-z]\w*)\(\s*self/gm)
  return [
    ...Object.keys(client).map((name) => `typescript ${name}`),
    ...Object.keys(client.createLyraClient({ url: 'http://127.0.0.1:1' })).map(
      (name) => `typescript LyraClient.${name}`,
    ),
    ...[...list!.matchAll(/"(\w+)"/g)].map(([, name]) => `python ${name}`),
    ...[...methods].map(([, name]) => `python Client.${name}`),
  ]
}

const viewNames = () =>
  VIEWS.flatMap(({ name, columns }) => [
    `view ${name}`,
    ...columns.map((column) => `view ${name}.${column.name} ${column.type}`),
  ])

test('No public name is gone', async (t) => {
  const names = [
    ...apiNames(),
    ...(await commandNames()),
    ...(await reportNames(t)),
    ...(await metricNames(t)),
    ...clientNames(),
    ...viewNames(),
  ]
  const found = [...new Set(names)].sort()
  if (process.env.LYRA_WRITE_PUBLIC_NAMES === '1') writeFileSync(FILE, `${found.join('\n')}\n`)
  const recorded = readFileSync(FILE, 'utf8').trim().split('\n')
  for (const kind of [
    'request',
    'schema',
    'grpc',
    'command',
    'report',
    'metric',
    'typescript',
    'python',
    'view',
  ])
    assert.ok(recorded.filter((name) => name.startsWith(`${kind} `)).length > 4, kind)
  const present = new Set(found)
  const gone = recorded.filter((name) => !present.has(name))
  assert.deepEqual(gone, [], 'docs/stability.md says how a name may be removed')
})
