import assert from 'node:assert/strict'
import { cpSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { before, describe, type TestContext, test } from 'node:test'
import { openApiDocument } from '#service/openapi/openapi'
import { asOpenApi30 } from '#service/openapi/openapi-3-0'
import { DOCUMENTED_MARKET, ROOT } from '../fixtures/documentation.ts'
import { getJson, getPage, send } from '../fixtures/requests/http.ts'
import { LONG } from '../fixtures/sampling.ts'
import { serveWith } from '../fixtures/services/port.ts'
import { ended, startProgram } from '../fixtures/services/program.ts'
import { serveFile } from '../fixtures/services/service.ts'
import { MONTH, skipped } from '../fixtures/shared.ts'
import { STORE_KINDS, temporaryFolder } from '../fixtures/stores/stores.ts'

/** Where `test/clients/generated/install` has installed the generators. */
const TOOLS = process.env.LYRA_GENERATORS ?? ''

const PROGRAMS = join(import.meta.dirname, 'generated')

type Language = 'TypeScript' | 'Python' | 'Go'

/** The version of OpenAPI of a document. */
type Version = '3.1' | '3.0'

/** A generator of clients. */
type Generator = {
  name: string
  language: Language
  /** Its command, which makes a client called `api` in the working folder. */
  command: (options: { document: string; base: string }) => string[]
  /** The program that uses the client: its name without the ending. */
  program: string
  /** The documents that `npm test` gives it, if not both: it takes long. */
  shortRun?: readonly Version[]
  /** What it must not print. */
  mustNotPrint?: RegExp
}

const npmTool = (name: string, ...args: string[]) => [
  process.execPath,
  join(TOOLS, 'node_modules', name),
  ...args,
]

const openApiGenerator = (name: string, ...args: string[]) => [
  join(TOOLS, 'python/bin/openapi-generator-cli'),
  'generate',
  '--generator-name',
  name,
  ...args,
]

const GENERATORS: readonly Generator[] = [
  {
    name: 'openapi-typescript with openapi-fetch',
    language: 'TypeScript',
    program: 'openapi-fetch',
    command: ({ document }) => npmTool('openapi-typescript/bin/cli.js', document, '--output', 'api.d.ts'),
  },
  {
    name: '@hey-api/openapi-ts',
    language: 'TypeScript',
    program: 'hey-api',
    command: ({ document }) =>
      npmTool('@hey-api/openapi-ts/bin/run.js', '--input', document, '--output', 'api', '--no-log-file'),
  },
  {
    name: 'openapi-typescript-codegen',
    language: 'TypeScript',
    program: 'openapi-typescript-codegen',
    command: ({ document }) =>
      npmTool('openapi-typescript-codegen/bin/index.js', '--input', document, '--output', 'api'),
  },
  {
    name: 'orval',
    language: 'TypeScript',
    program: 'orval',
    command: ({ document, base }) => {
      const output = { target: 'api.ts', client: 'fetch', baseUrl: base }
      writeFileSync(
        join(document, '../orval.config.mjs'),
        `export default ${JSON.stringify({ lyra: { input: document, output } })}`,
      )
      return npmTool('orval/dist/bin/orval.mjs', '--config', 'orval.config.mjs')
    },
  },
  {
    name: 'openapi-generator typescript-fetch',
    language: 'TypeScript',
    program: 'typescript-fetch',
    shortRun: ['3.1'],
    command: ({ document }) =>
      openApiGenerator('typescript-fetch', '--input-spec', document, '--output', 'api'),
  },
  {
    name: 'openapi-python-client',
    language: 'Python',
    program: 'openapi_python_client',
    mustNotPrint: /warning/i,
    command: ({ document }) => [
      join(TOOLS, 'python/bin/openapi-python-client'),
      'generate',
      '--path',
      document,
      '--meta',
      'none',
      '--output-path',
      'api',
    ],
  },
  {
    name: 'openapi-generator python',
    language: 'Python',
    program: 'openapi_generator',
    shortRun: ['3.1'],
    command: ({ document }) =>
      openApiGenerator(
        ...(['python', '--input-spec', document, '--output', '.'] as const),
        '--additional-properties=packageName=api',
      ),
  },
  {
    name: 'oapi-codegen',
    language: 'Go',
    program: 'oapi-codegen',
    command: ({ document }) => [
      join(TOOLS, 'bin/oapi-codegen'),
      '-generate',
      'types,client',
      '-package',
      'api',
      '-o',
      'api/api.go',
      document,
    ],
  },
  {
    name: 'ogen',
    language: 'Go',
    program: 'ogen',
    shortRun: [],
    command: ({ document }) => [
      join(TOOLS, 'bin/ogen'),
      '--target',
      'api',
      '--package',
      'api',
      '--clean',
      document,
    ],
  },
  {
    name: 'openapi-generator go',
    language: 'Go',
    program: 'openapi-generator',
    shortRun: [],
    command: ({ document }) =>
      openApiGenerator(
        ...(['go', '--input-spec', document, '--output', 'api'] as const),
        // Without the last one its clients refuse fields that they do not know.
        '--additional-properties=packageName=api,withGoMod=false,disallowAdditionalPropertiesIfNotPresent=false',
      ),
  },
]

/** A field that no document describes: later versions may add some. */
const NEW_FIELD = 'newField'

/** A service whose answers have another field in each object. */
function serveOfLater(t: TestContext, base: string): Promise<string> {
  return serveWith(t, async (request, response) => {
    const { status, headers, text } = await send(base, request.url!)
    const isJson = headers['content-type'] === 'application/json'
    const added = JSON.stringify(isJson ? JSON.parse(text, withNewField) : null)
    response.writeHead(status, { 'content-type': headers['content-type'] }).end(isJson ? added : text)
  })
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const withNewField = (_: string, value: unknown) => (isObject(value) ? { ...value, [NEW_FIELD]: '1' } : value)

const withoutNewField = (name: string, value: unknown) => (name === NEW_FIELD ? undefined : value)

/** What a client must get of the service. */
async function answersOf(base: string) {
  const periods = (await getPage(base, `/api/v2/funding-periods/${DOCUMENTED_MARKET}`)).edges
  const forward = periods.map(({ node }) => node)
  const series = `/api/v2/series/funding-period-data-points/${DOCUMENTED_MARKET}?interval=1d`
  return {
    forward,
    backward: forward,
    series: (await getJson<{ series: object }>(base, series)).series,
    summaries: (await getPage(base, '/api/v2/market-summaries')).edges.map(({ node }) => node),
    csv: (await send(base, '/api/v2/export/checkpoints?format=csv')).text,
  }
}

/** Compiles the program of a client in a folder; returns the command that runs it. */
const COMPILE: Record<Language, (t: TestContext, folder: string, program: string) => Promise<string[]>> = {
  TypeScript: async (t, folder, program) => {
    const compilerOptions = {
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      types: ['node'],
      module: 'esnext',
      moduleResolution: 'bundler',
      target: 'es2022',
      lib: ['es2022', 'dom', 'dom.iterable'],
    }
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ compilerOptions, files: [`${program}.ts`] }),
    )
    await run(t, folder, [join(ROOT, 'node_modules/.bin/tsc'), '--project', '.'])
    const options = [
      '--bundle',
      '--platform=node',
      '--format=esm',
      '--outfile=program.mjs',
      '--log-level=error',
    ]
    await run(t, folder, [join(TOOLS, 'node_modules/.bin/esbuild'), `${program}.ts`, ...options])
    return [process.execPath, 'program.mjs']
  },
  Python: async (_, __, program) => [join(TOOLS, 'python/bin/python'), `${program}.py`],
  Go: async (t, folder, program) => {
    for (const name of ['go.mod', 'go.sum']) cpSync(join(TOOLS, name), join(folder, name))
    await run(t, folder, ['go', 'build', '-o', 'program', `${program}.go`, 'walk.go'])
    return [join(folder, 'program')]
  },
}

/** Runs a command, which must succeed. Tools use what is installed, and ask nobody. */
function run(t: TestContext, cwd: string, [command, ...args]: string[]) {
  const path = [join(TOOLS, 'python/bin'), process.env.PATH].join(delimiter)
  const env = { PATH: path, GOTOOLCHAIN: 'local', GOFLAGS: '', GOPROXY: 'off' }
  return ended(startProgram(t, command!, args, { cwd, env }))
}

const isInstalled = TOOLS !== ''

describe('A client that a generator makes from the OpenAPI document', {
  skip: isInstalled ? false : skipped('LYRA_GENERATORS names no folder of test/clients/generated/install'),
}, () => {
  const document = openApiDocument('1.2.3')
  const documents: Record<Version, object> = { '3.1': document, '3.0': asOpenApi30(document) }
  let base: string
  before(async () => {
    base = await serveFile(STORE_KINDS[0]!, MONTH)
  })

  for (const generator of GENERATORS) {
    const { name, language, command, program, shortRun, mustNotPrint } = generator
    const versions: readonly Version[] = ['3.1', '3.0']
    for (const version of LONG ? versions : (shortRun ?? versions)) {
      test(`${name}, ${version}: compiles, pages both ways, and gets the API's rows with fields that it does not know`, async (t) => {
        const folder = temporaryFolder(t)
        const file = join(folder, 'openapi.json')
        writeFileSync(file, JSON.stringify(documents[version]))
        cpSync(join(PROGRAMS, language.toLowerCase()), folder, { recursive: true })
        if (language === 'TypeScript') symlinkSync(join(TOOLS, 'node_modules'), join(folder, 'node_modules'))
        const later = await serveOfLater(t, base)
        const { stdout, stderr } = await run(t, folder, command({ document: file, base: later }))
        if (mustNotPrint !== undefined) assert.doesNotMatch(stdout + stderr, mustNotPrint)
        const runs = await COMPILE[language](t, folder, program)
        const answers = JSON.parse((await run(t, folder, [...runs, later, DOCUMENTED_MARKET])).stdout)
        // Of a client that passes everything on, too.
        const known = JSON.parse(JSON.stringify(answers), withoutNewField)
        assert.deepEqual(known, await answersOf(base))
      })
    }
  }
})
