type Json = null | boolean | number | string | readonly Json[] | JsonObject
type JsonObject = { readonly [key: string]: Json }

/** Places in the document whose keys are names, not keywords of a schema. */
const KEYED_BY_NAME = new Set([
  'properties',
  'schemas',
  'headers',
  'parameters',
  'responses',
  'content',
  'paths',
])

/**
 * The document as OpenAPI 3.0, for client generators that do not read 3.1 yet. There, null is not a type, a constant is an
 * enum of one value, a schema has one example, and a reference has no keywords beside it.
 */
export function asOpenApi30(document: object): object {
  const { openapi: _, info, ...rest } = document as JsonObject
  const { license, ...about } = info as JsonObject
  // An identifier of a license is new in 3.1.
  const { identifier, ...named } = license as JsonObject
  const licensed = { ...named, url: `https://spdx.org/licenses/${identifier}.html` }
  return { openapi: '3.0.3', info: { ...about, license: licensed }, ...(downgraded(rest) as JsonObject) }
}

function downgraded(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value
  if (isList(value)) return value.map(downgraded)
  return convertedSchema(
    Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [
        key,
        KEYED_BY_NAME.has(key) && !isList(inner) ? namedParts(inner) : downgraded(inner),
      ]),
    ),
  )
}

/** Parts by name, which is no keyword: a field may be called `const`. */
function namedParts(parts: Json): Json {
  if (typeof parts !== 'object' || parts === null) return parts
  return Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, downgraded(part)]))
}

/** A schema whose parts have already been converted; anything else is returned as it is. */
function convertedSchema({ const: only, examples, ...schema }: Record<string, Json>): JsonObject {
  const { oneOf, type, $ref, ...beside } = schema
  const more: Record<string, Json> = {
    ...(only === undefined ? {} : { enum: [only] }),
    // Examples of answers are maps; those of schemas are lists.
    ...(examples === undefined ? {} : isList(examples) ? { example: examples[0]! } : { examples }),
  }
  if (isList(oneOf)) {
    const [none, shown, ...others] = oneOf as readonly JsonObject[]
    if (none?.type !== 'null') return { ...schema, ...more }
    if (others.length > 0) throw new TypeError('a schema of null and of several others is not provided for')
    return { ...beside, ...more, ...allowingNull(shown!) }
  }
  if (isList(type)) {
    const [shown] = type.filter((name) => name !== 'null')
    return { ...beside, ...more, type: shown!, nullable: true }
  }
  if ($ref !== undefined && Object.keys(beside).length > 0) return { ...beside, ...more, allOf: [{ $ref }] }
  return { ...schema, ...more }
}

/** A schema that also allows null. Strictly, the schema referred to would have to allow it; generators accept this. */
function allowingNull(schema: JsonObject): JsonObject {
  return '$ref' in schema
    ? { type: 'object', nullable: true, allOf: [schema] }
    : { ...schema, nullable: true }
}

const isList = (value: Json | undefined): value is readonly Json[] => Array.isArray(value)
