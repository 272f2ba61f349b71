import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { openApiDocument } from '#service/api/openapi/openapi'
import { asOpenApi30 } from '#service/api/openapi/openapi-3-0'
import { getPage, send } from './fixtures/http.ts'
import { assertValidOpenApi } from './fixtures/openapi.ts'
import { serveFile } from './fixtures/service.ts'
import { recorded } from './fixtures/shared.ts'
import { STORE_KINDS } from './fixtures/stores.ts'

type Schema = { [key: string]: unknown }
type Operation = {
  operationId: string
  parameters: object[]
  responses: Record<string, { content?: Record<string, { schema: Schema }> }>
}
type Document = { openapi: string; paths: Record<string, { get: Operation }> }

const newer = openApiDocument('1.2.3') as Document
const document = asOpenApi30(newer) as Document

const ID = 'https://lyra.invalid/openapi-3.0.json'

/** Schemas of OpenAPI 3.0 as JSON Schema, with `nullable` as generators read it: null besides the other types. */
function asJsonSchema(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(asJsonSchema)
  if (typeof value !== 'object' || value === null) return value
  const { nullable, example: _, ...rest } = value as Schema
  const schema = Object.fromEntries(Object.entries(rest).map(([key, inner]) => [key, asJsonSchema(inner)]))
  return nullable === true ? { anyOf: [{ type: 'null' }, schema] } : schema
}

const ajv = new Ajv2020({ strict: true, allErrors: true, validateFormats: false })
ajv.addVocabulary(['openapi', 'info', 'servers', 'security', 'tags', 'paths', 'components'])
ajv.addSchema({ $id: ID, ...(asJsonSchema(document) as object) })

const validatorOf = (path: string, status: number) => {
  const pointer = ['paths', path, 'get', 'responses', String(status), 'content', 'application/json', 'schema']
  const escaped = pointer.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1')))
  return ajv.compile({ $ref: `${ID}#/${escaped.join('/')}` })
}

describe('The document as OpenAPI 3.0', () => {
  test('is valid, and passes the linter of Redocly', async () => {
    assert.match(document.openapi, /^3\.0\.\d$/)
    await assertValidOpenApi(document, '3.0')
  })

  test('has the same operations, with the same parameters and answers', () => {
    const shapeOf = ({ paths }: Document) =>
      Object.entries(paths).map(([path, { get }]) => [
        ...[path, get.operationId, get.parameters.length, Object.keys(get.responses)],
        Object.values(get.responses).map(({ content }) => Object.keys(content ?? {})),
      ])
    assert.deepEqual(shapeOf(document), shapeOf(newer))
    assert.ok(Object.keys(document.paths).length > 30)
  })

  test('describes answers with and without nulls, and nothing else', async () => {
    const base = await serveFile(STORE_KINDS[0]!, recorded('synthetic'))
    const { edges } = await getPage(base, '/api/v2/market-summaries')
    let answers = 0
    const nulls = new Set<string>()
    for (const [path, { get }] of Object.entries(document.paths)) {
      if (path.startsWith('/api/v2/stream') || path.startsWith('/api/v2/export') || path === '/metrics')
        continue
      for (const { node } of edges) {
        const id = String(node.marketId)
        const takesMarket = JSON.stringify(get.parameters).includes('"marketId"')
        const query = takesMarket && !path.includes('{marketId}') ? `?marketId=${id}` : ''
        const { status, text } = await send(base, path.replace('{marketId}', id) + query)
        const body: object = JSON.parse(text, (name, value) => {
          if (value === null) nulls.add(name)
          return value
        })
        const validate = validatorOf(path, status)
        assert.ok(validate(body), `${path}: ${ajv.errorsText(validate.errors)}`)
        if (status === 200) answers += 1
        if (path.startsWith('/api/v2')) assert.ok(!validate({ ...body, other: 1 }), path)
      }
    }
    assert.ok(answers > 50, `${answers}`)
    for (const name of ['sla', 'estimate', 'fundingEstimate', 'next', 'prunedBefore'])
      assert.ok(nulls.has(name), name)
  })
})
