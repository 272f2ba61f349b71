import {
  type Field,
  isList,
  isNodeOf,
  isObject,
  isStored,
  namesOf,
  type StoredField,
} from '#core/model/field'
import { LISTS, NODE_PARTS } from '#core/resources/resources'
import type { JsonSchema } from './question.ts'

const TEXT_SCHEMA = { type: 'string' }
const SIGNED_SCHEMA = { type: 'string', pattern: '^-?[0-9]+$' }

/** Values by their form. */
const SCHEMAS = {
  marketId: { type: 'string', pattern: '^[0-9a-f]{64}$' },
  partyId: { type: 'string', pattern: '^([0-9a-f]{64}|network)$' },
  integer: { type: 'string', pattern: '^[0-9]+$' },
  signed: SIGNED_SCHEMA,
  time: SIGNED_SCHEMA,
  number: TEXT_SCHEMA,
  rate: TEXT_SCHEMA,
  text: TEXT_SCHEMA,
  boolean: { type: 'boolean' },
  texts: { type: 'array', items: TEXT_SCHEMA },
}

/** The schema of a value by its form. */
export const valueSchema = (form: keyof typeof SCHEMAS, description?: string): JsonSchema => ({
  ...SCHEMAS[form],
  ...(description === undefined ? {} : { description }),
})

/** The schema of what may be null. */
export const nullable = ({ description, ...schema }: JsonSchema): JsonSchema => ({
  ...(description === undefined ? {} : { description }),
  oneOf: [{ type: 'null' }, schema],
})

/**
 * The schema of a JSON object. It allows other fields, so that clients made from it accept those of later versions.
 *
 * @param optional the fields that may be left out
 */
export const objectOf = (
  properties: Record<string, JsonSchema>,
  optional: readonly string[] = [],
): JsonSchema => ({
  type: 'object',
  properties,
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
})

/** A schema with a name, which the OpenAPI document and the client define once. A description is that of its use. */
export const named = (title: string, schema: JsonSchema): JsonSchema => ({ title, ...schema })

/** A name as that of a type: `fundingRates` as `FundingRates`. */
export const typeNameOf = (name: string): string => `${name[0]!.toUpperCase()}${name.slice(1)}`

/** A reference to a schema that the OpenAPI document has under this name. */
export const reference = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` })

/** The schema of a list. */
export const listOf = (items: JsonSchema, description?: string): JsonSchema => ({
  type: 'array',
  ...(description === undefined ? {} : { description }),
  items,
})

/** The schema of a page of a list: its body has the one field `name`. */
export const pageSchema = (name: string, nodeName: string, node: JsonSchema): JsonSchema =>
  objectOf({
    [name]: named(
      `${nodeName}Page`,
      objectOf({
        edges: listOf(
          named(
            `${nodeName}Edge`,
            objectOf({
              node,
              cursor: {
                type: 'string',
                description: 'Opaque. Pass it as pagination.after or pagination.before.',
              },
            }),
          ),
        ),
        pageInfo: reference('PageInfo'),
      }),
    ),
  })

/** JSON schemas of nodes, by the name of the node's type. */
export const NODE_SCHEMAS: Readonly<Record<string, object>> = Object.fromEntries(
  [...LISTS, ...NODE_PARTS].map(({ nodeName, meaning, fields }) => [
    nodeName,
    { ...objectSchema(fields), description: meaning },
  ]),
)

function objectSchema(fields: readonly Field[]): JsonSchema {
  return objectOf(
    Object.fromEntries(fields.map((field) => [field.name, fieldSchema(field)])),
    fields.filter(({ ifNull }) => ifNull === 'left out').map(({ name }) => name),
  )
}

function fieldSchema({ form, meaning, ifNull }: Field): JsonSchema {
  const schema = formSchema(form)
  return { ...(ifNull === 'null' ? { oneOf: [{ type: 'null' }, schema] } : schema), description: meaning }
}

function formSchema(form: Field['form']): JsonSchema {
  if (isStored(form)) return objectOf(Object.fromEntries(form.stored.map(storedEntry)))
  if (isList(form))
    return listOf(named(form.typeName, objectOf(Object.fromEntries(form.elements.map(storedEntry)))))
  if (isObject(form)) return objectSchema(form.object)
  if (isNodeOf(form)) return reference(form.nodeOf)
  const names = namesOf(form)
  if (names !== null) return { type: 'string', enum: [...names] }
  return SCHEMAS[form as keyof typeof SCHEMAS]
}

function storedEntry({ name, form, meaning }: StoredField): [name: string, schema: JsonSchema] {
  return [name, { ...SCHEMAS[form], description: meaning }]
}
