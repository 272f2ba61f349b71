import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { LISTS, NODE_PARTS } from '#core/resources/resources'
import { NODE_SCHEMAS } from '#service/questions/node-schemas'
import { closed } from '../../fixtures/requests/closed.ts'
import { RESOURCE_ROWS } from '../../fixtures/resources/resource-rows.ts'

const ajv = new Ajv2020({ strict: true, allErrors: true, allowUnionTypes: false })

/** Every schema of a field within a schema, with its place. */
function* fieldsWithin(schema: object, place = ''): Generator<[string, Record<string, unknown>]> {
  const { properties = {}, oneOf = [] } = schema as { properties?: Record<string, object>; oneOf?: object[] }
  for (const inner of oneOf) yield* fieldsWithin(inner, place)
  for (const [name, inner] of Object.entries(properties)) {
    yield [`${place}.${name}`, inner as Record<string, unknown>]
    yield* fieldsWithin(inner, `${place}.${name}`)
  }
}

describe('The schema of a node', () => {
  test('exists for every list and the estimate, with a meaning for every field', () => {
    assert.deepEqual(
      Object.keys(NODE_SCHEMAS),
      [...LISTS, ...NODE_PARTS].map(({ nodeName }) => nodeName),
    )
    for (const [name, schema] of Object.entries(NODE_SCHEMAS)) {
      const fields = [...fieldsWithin(schema, name)]
      assert.ok(fields.length >= 3, name)
      for (const [place, field] of fields) assert.match(String(field.description), /^[A-Z].+\.$/s, place)
    }
  })

  for (const { resource, selection, rows } of RESOURCE_ROWS) {
    test(`${resource.name}: allows the nodes of its rows, and none with a missing or additional field`, () => {
      const validate = ajv.compile(closed(NODE_SCHEMAS[resource.nodeName]!))
      for (const row of rows) {
        const node = JSON.parse(resource.node(row, selection)) as Record<string, unknown>
        assert.ok(validate(node), ajv.errorsText(validate.errors))
        assert.equal(validate({ ...node, more: '' }), false)
        for (const { name, ifNull } of resource.fields) {
          const { [name]: _, ...rest } = node
          assert.equal(validate(rest), ifNull === 'left out', `without ${name}`)
          assert.equal(validate({ ...node, [name]: null }), ifNull === 'null', `${name} null`)
          assert.equal(validate({ ...node, [name]: 1 }), false, `${name} as a number`)
        }
      }
    })
  }
})
