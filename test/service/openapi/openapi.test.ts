import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { LISTS, RESOURCES } from '#core/resources/resources'
import {
  ASSETS_PATH,
  EXPLORER_PATH,
  exportPath,
  MARKET_METRICS_PATH,
  REFERENCE_PATH,
  streamPath,
} from '#service/http/paths'
import { openApiDocument } from '#service/openapi/openapi'
import { asOpenApi30 } from '#service/openapi/openapi-3-0'
import { QUESTIONS } from '#service/questions/questions'
import { assertSays } from '../../fixtures/assert-says.ts'
import { closed } from '../../fixtures/requests/closed.ts'
import { getPage, query, send } from '../../fixtures/requests/http.ts'
import { assertValidOpenApi } from '../../fixtures/requests/openapi.ts'
import { ask, exchange, type RawAnswer, requestText } from '../../fixtures/requests/raw-http.ts'
import { routedPaths, serve, serveFile, storeOf } from '../../fixtures/services/service.ts'
import { CHECKPOINTS, MARKET, PERIODS, recorded, SAMPLE } from '../../fixtures/shared.ts'
import { ANY_STORE_KIND, describeOn, STORE_KINDS, temporaryFolder } from '../../fixtures/stores/stores.ts'

type Schema = Record<string, unknown>
type Parameter = { name: string; in: string; required?: boolean; schema: Schema; examples?: unknown }
type Answer = {
  headers?: Record<string, { schema: Schema }>
  content?: Record<string, { schema: Schema; examples?: Record<string, { value: unknown }> }>
}
type Operation = {
  operationId: string
  description?: string
  parameters?: Parameter[]
  responses: Record<string, Answer>
}
type Document = {
  openapi: string
  paths: Record<string, { get: Operation }>
  components: { schemas: Record<string, Schema> }
}

const ID = 'https://lyra.invalid/openapi.json'

/** Parameters of which a request of a path needs one, or one of a path with a certain parameter. */
const NEEDED: ReadonlyMap<string, readonly string[]> = new Map([
  ...RESOURCES.flatMap((resource): [string, readonly string[]][] => [
    [resource.path, resource.required.list ?? []],
    [streamPath(resource), resource.required.stream ?? []],
    ...resource.flags.map(({ name, needs }): [string, readonly string[]] => [
      `${resource.path} ${name}`,
      [needs],
    ]),
  ]),
  ['/api/v2/funding-leaders', ['marketId', 'assetId']],
])

/** Headers that not every answer has. */
const NOT_ALWAYS = /^(x-block-|ratelimit-|allow$|retry-after$|content-range$)/

/** Validates by the schemas in a document. */
function ajvOf(document: object): Ajv2020 {
  const ajv = new Ajv2020({ strict: true, allErrors: true, validateFormats: false, allowUnionTypes: false })
  // The document's own keys are not keywords of JSON Schema, and its references are relative to it.
  ajv.addVocabulary([
    'openapi',
    'info',
    'servers',
    'security',
    'tags',
    'paths',
    'components',
    'x-enum-varnames',
  ])
  const { components, ...rest } = closed(document) as Document
  // Of the document itself, only the parts that every document has are described.
  const { OpenApiDocument } = (document as Document).components.schemas
  return ajv.addSchema({
    $id: ID,
    ...rest,
    components: { ...components, schemas: { ...components.schemas, OpenApiDocument } },
  })
}

const document = openApiDocument('1.2.3') as Document
/** The id in a path: of a market, or of a party, which has the same form. */
const PATH_ID = /\{\w+Id\}/

const ajv = ajvOf(document)

/** The parts of a JSON pointer, escaped for a reference. */
const pointer = (parts: string[]) =>
  parts.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')

const validators = new Map<string, ValidateFunction>()

/** Checks a value against the schema at a place in the document. */
function assertValid(value: unknown, place: string[], where: string): void {
  const ref = `${ID}#/${pointer(place)}`
  let validate = validators.get(ref)
  if (validate === undefined) {
    validate = ajv.compile({ $ref: ref })
    validators.set(ref, validate)
  }
  assert.ok(validate(value), `${where}: ${ajv.errorsText(validate.errors)}`)
}

/** Resolves a reference; returns any other value unchanged. */
function resolved<T>(value: T | { $ref: string }): { value: T; place: string[] | null } {
  if (typeof value !== 'object' || value === null || !('$ref' in value)) return { value, place: null }
  const place = value.$ref.slice(2).split('/')
  let found: unknown = document
  for (const part of place) found = (found as Record<string, unknown>)[part]
  assert.ok(found !== undefined, value.$ref)
  return { value: found as T, place }
}

/** Every object and array within the document, with its place. */
function* within(value: unknown, place: string[] = []): Generator<[Record<string, unknown>, string[]]> {
  if (typeof value !== 'object' || value === null) return
  yield [value as Record<string, unknown>, place]
  for (const [key, inner] of Object.entries(value)) yield* within(inner, [...place, key])
}

/** The document's path that matches a request's path, or null. */
function documentedPath(target: string): string | null {
  const path = target.split('?')[0]!
  const matches = (template: string) => new RegExp(`^${template.replace(/\{\w+\}/, '[^/]*')}$`).test(path)
  return Object.keys(document.paths).find(matches) ?? null
}

/** Checks an answer against the document's response for its path and status. */
function assertDocumented(answer: RawAnswer, target: string): void {
  const known = documentedPath(target)
  // An unknown path has no operation; it is answered like an error of any other path. So is a wrong request for `/ready`,
  // whose own answers are two.
  const isOther = known === null || (known === '/ready' && answer.status !== 503 && answer.status >= 400)
  const path = isOther ? CHECKPOINTS : known
  const where = `${target.slice(0, 300)}: ${answer.status} ${answer.body.slice(0, 300)}`
  const { responses } = document.paths[path]!.get
  const exact = String(answer.status)
  const status = exact in responses ? exact : `${exact[0]}XX`
  const place = ['paths', path, 'get', 'responses', status]
  const documented = responses[status]
  assert.ok(documented !== undefined, `not documented: ${where}`)

  for (const [name, header] of Object.entries(documented.headers ?? {})) {
    const values = answer.headers.get(name.toLowerCase())
    if (values === undefined && NOT_ALWAYS.test(name.toLowerCase())) continue
    assert.equal(values?.length, 1, `${name}: ${where}`)
    const { place: shared } = resolved(header)
    const { schema } = resolved(header).value
    const value = schema.type === 'integer' ? Number(values![0]) : values![0]
    assertValid(value, [...(shared ?? [...place, 'headers', name]), 'schema'], `${name}: ${where}`)
  }
  const listed = new Set(Object.keys(documented.headers ?? {}).map((name) => name.toLowerCase()))
  for (const name of answer.headers.keys()) {
    if (/^(x-|ratelimit-|retry-after|etag|allow$|accept-ranges|content-(range|disposition))/.test(name))
      assert.ok(listed.has(name), `${name}: ${where}`)
  }

  if (documented.content === undefined) {
    assert.equal(answer.body, '', where)
    return
  }
  const [type] = answer.headers.get('content-type')!
  const [found] = Object.keys(documented.content).filter((listedType) => type!.split(';')[0] === listedType)
  assert.ok(found !== undefined, `${type}: ${where}`)
  const value = found === 'application/json' ? JSON.parse(answer.body) : answer.body
  assertValid(value, [...place, 'content', found, 'schema'], where)
}

/** Accepted spellings of booleans besides the documented `true` and `false`. */
const BOOLEANS: Record<string, boolean> = { true: true, 1: true, FALSE: false, 0: false }

/** Converts a query text to the type in its parameter's schema. */
function typedValue(type: unknown, text: string): unknown {
  if (type === 'integer' && /^-?\d+$/.test(text)) return Number(text)
  if (type === 'array') return [text]
  return type === 'boolean' ? (BOOLEANS[text] ?? text) : text
}

describe('The OpenAPI document', () => {
  test('is valid OpenAPI 3.1, and passes the linter of Redocly', () => assertValidOpenApi(document, '3.1'))

  for (const hasMarkets of [false, true])
    test(`describes every path except those of the explorer's files, ${hasMarkets ? 'with' : 'without'} metrics of markets`, async (t) => {
      const described = openApiDocument('1.2.3', { hasMarketMetrics: hasMarkets }) as Document
      // Without the option, the path of the metrics only says so.
      const others = [
        EXPLORER_PATH,
        REFERENCE_PATH,
        ASSETS_PATH,
        ...(hasMarkets ? [] : [MARKET_METRICS_PATH]),
      ]
      const paths = await routedPaths(t, join(temporaryFolder(t), 'lyra.db'), { marketMetrics: hasMarkets })
      // An address that ends in a format is described with the one that takes it as a parameter.
      const isEnding = (path: string) => /^\/api\/v2\/export\/.*\./.test(path)
      const names = paths
        .filter((path) => !others.includes(path) && !isEnding(path))
        .map((path) => path.replace(/:(\w+)/, '{$1}'))
      assert.deepEqual(Object.keys(described.paths).sort(), names.sort())
      assert.equal(names.includes(MARKET_METRICS_PATH), hasMarkets)
      await assertValidOpenApi(described, '3.1')
    })

  test('names the unit of every amount, which is no whole unit of the asset, and the limits that hold', () => {
    const text = JSON.stringify(document)
    assert.doesNotMatch(text, /asset's decimals/)
    const described = (node: string, field: string) => {
      const found: unknown[] = []
      JSON.stringify(document.components.schemas[node], (name, value: unknown) => {
        if (name === field) found.push(value)
        return value
      })
      return JSON.stringify(found)
    }
    for (const [node, fields] of Object.entries({
      FundingPeriodDataPoint: 'price twap',
      FundingPeriod: 'fundingPayment internalTwap externalTwap',
      FundingEstimate: 'fundingPayment internalTwap externalTwap',
      LiquidityProvider:
        'averageEntryValuation virtualStake requiredLiquidity notionalVolumeBuys notionalVolumeSells',
      LiquidityProviderEpoch: 'requiredLiquidity',
    })) {
      for (const field of fields.split(' '))
        assert.match(described(node, field), /smallest unit of the settlement asset/, `${node}.${field}`)
    }
    for (const node of ['LiquidityProvider', 'LiquidityProviderEpoch']) {
      const share = described(node, 'equityLikeShare')
      assert.match(share, /share of the market.*also depends on its average score and penalties/, share)
    }
    assertSays(described('LiquidityProvider', 'virtualStake'), 'commitment plus')
    assertSays(text, 'at most 2,001 buckets')
    assertSays(text, 'more than 20,000 auction events')
  })

  test('shows examples and defaults that its schemas allow', () => {
    let examples = 0
    for (const [value, place] of within(document)) {
      if (place.at(-1) === 'schema' && 'default' in value) assertValid(value.default, place, place.join('/'))
      if (place.at(-1) === 'schema' && Array.isArray(value.examples)) {
        for (const example of value.examples) assertValid(example, place, place.join('/'))
      }
      if (place.at(-1) !== 'examples' || place.at(-2) !== 'application/json') continue
      for (const [name, example] of Object.entries(value)) {
        const status = place[place.indexOf('responses') + 1]
        const body = (example as { value: { code: number } }).value
        assertValid(body, ['components', 'schemas', 'ErrorAnswer'], `${place.join('/')}/${name}`)
        assert.ok(Number(status) >= 400)
        examples += 1
      }
    }
    assert.ok(examples >= 30)
  })
})

/** The component that a schema refers to, or null. */
const nameOf = (schema: Schema | undefined) =>
  typeof schema?.$ref === 'string' ? schema.$ref.replace('#/components/schemas/', '') : null

/** The schemas of the bodies of an operation's answers, by status. */
const bodiesOf = ({ responses }: Operation) =>
  Object.entries(responses).flatMap(([status, { content }]) =>
    Object.entries(content ?? {}).map(([type, { schema }]) => ({ status, type, schema })),
  )

describe('The OpenAPI document suits generators of clients:', () => {
  const operations = Object.entries(document.paths).map(([path, { get }]) => ({ path, ...get }))
  const schemas = [...within(document)].filter(
    ([, place]) => place[0] === 'components' || place.includes('responses'),
  )

  test('a parameter has a default only if sending it changes nothing', () => {
    const defaults = operations.flatMap(({ path, parameters = [] }) =>
      parameters
        .filter((parameter) => 'name' in parameter && 'default' in parameter.schema)
        .map(
          ({ name, schema }) => `${name} ${path.includes('/export/') ? 'of exports' : ''}=${schema.default}`,
        ),
    )
    assert.deepEqual([...new Set(defaults)].sort(), [
      'interval =1d',
      'interval =all',
      'order =net',
      'pagination.newestFirst =true',
      'pagination.newestFirst of exports=false',
      'source =SOURCE_UNSPECIFIED',
      'source of exports=SOURCE_UNSPECIFIED',
      'units =1',
    ])
  })

  test('lists and reports answer with JSON alone, and say which files they also give', async () => {
    const base = await serveFile(STORE_KINDS[0]!, SAMPLE)
    for (const { path, description } of QUESTIONS) {
      const documented = path.replace(/:(\w+)/, '{$1}')
      const operation = document.paths[documented]!.get
      assert.deepEqual(Object.keys(operation.responses[200]!.content!), ['application/json'], path)
      const names = operation.parameters!.map(({ name }) => name)
      assert.deepEqual(
        names.filter((name) => name === 'format' || name === 'times'),
        [],
        path,
      )
      const isFile =
        'isFile' in description || ('list' in description && RESOURCES.includes(description.list))
      assert.equal((operation.description ?? '').includes('`format=csv'), isFile, path)
      if (!isFile) continue
      const [needed] = NEEDED.get(path) ?? []
      const target = `${documented.replace(PATH_ID, MARKET)}?format=csv&times=iso${needed === undefined ? '' : `&${needed}=${MARKET}`}`
      const { status, headers } = await ask(base, `GET ${target}`)
      assert.equal(status, 200, target)
      assert.match(headers.get('content-type')![0]!, /^text\/csv/)
    }
  })

  test('every answer, page, edge, node and part of a list is a named component', () => {
    for (const { path, ...operation } of operations) {
      for (const { type, status, schema } of bodiesOf(operation))
        if (type === 'application/json') assert.ok(nameOf(schema), `${path}: ${status}`)
    }
    for (const { bodyKey, nodeName } of LISTS) {
      const names = [
        `${bodyKey[0]!.toUpperCase()}${bodyKey.slice(1)}Answer`,
        `${nodeName}Page`,
        `${nodeName}Edge`,
        nodeName,
      ]
      for (const one of names) assert.ok(one in document.components.schemas, one)
    }
    for (const [{ type, items }, place] of schemas) {
      const { properties } = (items ?? {}) as Schema
      if (type === 'array') assert.equal(properties, undefined, place.join('/'))
    }
  })

  test('no component has the name that generators give to a property of another one', () => {
    const names = Object.keys(document.components.schemas)
    assert.equal(new Set(names.map((name) => name.toLowerCase())).size, names.length)
    const taken = new Set(names.map((name) => name.toLowerCase()))
    for (const [schema, place] of within(document.components.schemas)) {
      const { properties } = schema as { properties?: object }
      if (properties === undefined) continue
      const owner = place.filter((part) => !/^(properties|items|oneOf|\d+)$/.test(part)).join('')
      for (const property of Object.keys(properties)) {
        const made = `${owner}${property}`.toLowerCase()
        for (const name of [made, `${made}item`, `${made}inner`]) assert.ok(!taken.has(name), name)
      }
    }
  })

  test('an enum is one schema, and answers may have other fields', () => {
    for (const [schema, place] of schemas) {
      assert.ok(!('additionalProperties' in schema), place.join('/'))
      for (const one of (schema.oneOf ?? []) as Schema[]) assert.ok(!('enum' in one), place.join('/'))
    }
  })

  test('the errors of an operation have one body', () => {
    for (const { path, ...operation } of operations) {
      const errors = bodiesOf(operation).filter(({ status }) => /^[45]/.test(status))
      assert.ok(errors.length > 0, path)
      const names = [...new Set(errors.map(({ schema }) => nameOf(schema)))]
      assert.deepEqual(names, [path === '/ready' ? 'NotReady' : 'ErrorAnswer'], path)
    }
  })
})

/** Queries of which most paths refuse some: each by another of their parameters. */
const QUERIES = [
  '',
  'pretty',
  'a=%zz',
  'seq=18446744073709551615',
  'source=x&pretty',
  'dateRange.startTimestamp=0',
  ...['first=2', 'first=0', 'first=x', 'after=x'].map((text) => `pagination.${text}`),
  `marketId=${MARKET}`,
  'marketId=',
  'partyId=x',
]

/** Requests of every operation that is answered at once, valid and invalid. */
const TARGETS = [
  ...Object.keys(document.paths)
    .filter((path) => !/\/(?:stream|export)\//.test(path))
    .flatMap((path) => [
      ...QUERIES.map((query) => `${path.replace(PATH_ID, MARKET)}?${query}`),
      ...['', 'x', 'f'.repeat(64)].map((id) => path.replace(PATH_ID, id)),
    ]),
  `${CHECKPOINTS}/`,
  PERIODS.replace(MARKET, 'data-points'),
  '/nope',
]

describeOn(ANY_STORE_KIND, 'The service', (kind) => {
  test('answers as documented, whatever the request', async (t) => {
    const store = await storeOf(t, kind, SAMPLE)
    const base = await serve(t, store)
    const served = await ask(base, 'GET /openapi.json')
    assert.deepEqual(JSON.parse(served.body), openApiDocument('0.0.0-test'))

    for (const target of TARGETS) {
      const answer = await ask(base, `GET ${target}`)
      assertDocumented(answer, target)
      assertDocumented(await ask(base, `DELETE ${target}`), target)
      const tag = answer.headers.get('etag')?.[0]
      if (tag === undefined) continue
      const held = await ask(base, `GET ${target}`, { 'If-None-Match': tag })
      assert.equal(held.status, 304)
      assertDocumented(held, target)
    }
    const { answers } = await exchange(base, requestText(`GET ${CHECKPOINTS}?${'x'.repeat(20_000)}`))
    assertDocumented(answers[0]!, CHECKPOINTS)

    for (const resource of RESOURCES) {
      for (const format of ['ndjson', 'csv', 'parquet']) {
        const target = `${exportPath(resource)}?format=${format}`
        const whole = await ask(base, `GET ${target}`)
        const tag = whole.headers.get('etag')![0]!
        for (const [status, headers] of [
          [200, {}],
          // No range is within an empty file.
          [whole.body === '' ? 416 : 206, { Range: 'bytes=0-9' }],
          [304, { 'If-None-Match': tag }],
          [412, { 'If-Match': '"another"' }],
          [416, { Range: 'bytes=999999999-' }],
        ] as const) {
          const answer = await ask(base, `GET ${target}`, headers)
          assert.equal(answer.status, status, target)
          assertDocumented(answer, target)
        }
      }
    }

    const limited = await serve(t, store, { rateLimit: 1 })
    for (let sent = 0; sent < 8; sent++)
      assertDocumented(await ask(limited, `GET ${CHECKPOINTS}`), CHECKPOINTS)
    const empty = await serve(t, kind.create(t))
    for (const target of TARGETS) assertDocumented(await ask(empty, `GET ${target}`), target)
  })

  const texts = [
    '',
    '0',
    '1',
    '2',
    '3',
    '5000',
    '5001',
    '-1',
    '2147483648',
    '9223372036854775807',
    '1.5',
    'x',
    'true',
    'FALSE',
    'SOURCE_EXTERNAL',
    'network',
    MARKET,
    MARKET.toUpperCase(),
    `${MARKET}0`,
    '日',
  ]
  for (const [path, { get }] of Object.entries(document.paths)) {
    test(`accepts values that the schemas of ${path} allow, and refuses others`, async () => {
      const base = await serveFile(kind, SAMPLE)
      for (const [index, reference] of (get.parameters ?? []).entries()) {
        const { value: parameter, place } = resolved<Parameter>(reference)
        if (parameter.in === 'header' || parameter.name === 'pretty') continue
        const schemaPlace = [...(place ?? ['paths', path, 'get', 'parameters', String(index)]), 'schema']
        const validate = ajv.compile({ $ref: `${ID}#/${pointer(schemaPlace)}` })
        for (const text of texts) {
          const value = typedValue(parameter.schema.type, text)
          const allowed = validate(value)
          // A pattern cannot tell whether a cursor is valid.
          if (allowed && /^(pagination\.(after|before)|after|lastEventId)$/.test(parameter.name)) continue
          // Nor whether a range has too many buckets, or is too long.
          const isLimited = path === '/api/v2/funding-rates' || path.endsWith('/history')
          if (allowed && isLimited && /^dateRange/.test(parameter.name)) continue
          const market = parameter.in === 'path' ? encodeURIComponent(text) : MARKET
          const params: [string, string][] = parameter.in === 'path' ? [] : [[parameter.name, text]]
          const target = `${path.replace(PATH_ID, market)}${query(params)}`
          const needed = NEEDED.get(`${path} ${parameter.name}`) ?? NEEDED.get(path) ?? []
          const isEnough = needed.length === 0 || needed.includes(parameter.name)
          // A stream has no end, and an export is sent in chunks: only their headers are checked.
          const method = /\/(?:stream|export)\//.test(path) ? 'HEAD' : 'GET'
          const { status, body } = await ask(
            base,
            `${method} ${target}${isEnough ? '' : `&${needed[0]}=${MARKET}`}`,
          )
          assert.equal(status, allowed ? 200 : 400, `${target}: ${body.slice(0, 300)}`)
        }
      }
    })
  }
})

/** Schemas of OpenAPI 3.0 as JSON Schema, with `nullable` as generators read it: null besides the other types. */
function asJsonSchema(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(asJsonSchema)
  if (typeof value !== 'object' || value === null) return value
  const { nullable, example: _, ...rest } = value as Schema
  const schema = Object.fromEntries(Object.entries(rest).map(([key, inner]) => [key, asJsonSchema(inner)]))
  return nullable === true ? { anyOf: [{ type: 'null' }, schema] } : schema
}

describe('The document as OpenAPI 3.0', () => {
  const older = asOpenApi30(document) as Document

  test('is valid, and passes the linter of Redocly', async () => {
    assert.match(older.openapi, /^3\.0\.\d$/)
    await assertValidOpenApi(older, '3.0')
  })

  test('has the same operations, with the same parameters and answers', () => {
    const shapeOf = ({ paths }: Document) =>
      Object.entries(paths).map(([path, { get }]) => [
        path,
        get.operationId,
        get.parameters!.length,
        Object.keys(get.responses),
        Object.values(get.responses).map(({ content }) => Object.keys(content ?? {})),
      ])
    assert.deepEqual(shapeOf(older), shapeOf(document))
    assert.ok(Object.keys(older.paths).length > 30)
  })

  test('describes answers with and without nulls, and nothing else', async () => {
    const base = await serveFile(STORE_KINDS[0]!, recorded('synthetic'))
    const { edges } = await getPage(base, '/api/v2/market-summaries')
    const ajvOfOlder = ajvOf(asJsonSchema(older) as object)
    let answers = 0
    const nulls = new Set<string>()
    for (const [path, { get }] of Object.entries(older.paths)) {
      if (path.startsWith('/api/v2/stream') || path.startsWith('/api/v2/export') || path === '/metrics')
        continue
      for (const { node } of edges) {
        const id = String(node.marketId)
        const takesMarket = JSON.stringify(get.parameters).includes('"marketId"')
        const query = takesMarket && !PATH_ID.test(path) ? `?marketId=${id}` : ''
        const { status, text } = await send(base, path.replace(PATH_ID, id) + query)
        const body: object = JSON.parse(text, (name, value) => {
          if (value === null) nulls.add(name)
          return value
        })
        const place = ['paths', path, ...`get responses ${status} content application/json schema`.split(' ')]
        const validate = ajvOfOlder.compile({ $ref: `${ID}#/${pointer(place)}` })
        assert.ok(validate(body), `${path}: ${ajvOfOlder.errorsText(validate.errors)}`)
        if (status === 200) answers += 1
        if (path.startsWith('/api/v2')) assert.ok(!validate({ ...body, other: 1 }), path)
      }
    }
    assert.ok(answers > 50, `${answers}`)
    for (const name of ['sla', 'estimate', 'fundingEstimate', 'next', 'prunedBefore'])
      assert.ok(nulls.has(name), name)
  })
})
