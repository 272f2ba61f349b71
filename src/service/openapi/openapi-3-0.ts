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
 * The document as OpenAPI 3.0, for generators of clients that do not read 3.1 yet: null is not a type there, a constant is
 * an enum of one value, a schema has one example, and nothing stands beside a reference.
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

/** Parts by name: a field may be called `const`. */
function namedParts(parts: Json): Json {
  if (typeof parts !== 'object' || parts === null) return parts
  return Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, downgraded(part)]))
}

/** A schema whose parts are of 3.0 already; anything else as it is. */
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
    return { ...beside, ...more, ...takingNull(shown!) }
  }
  if (isList(type)) {
    const [shown] = type.filter((name) => name !== 'null')
    return { ...beside, ...more, type: shown!, nullable: true }
  }
  if ($ref !== undefined && Object.keys(beside).length > 0) return { ...beside, ...more, allOf: [{ $ref }] }
  return { ...schema, ...more }
}

/** A schema that takes null, too. By the letter, a reference would have to take it itself; generators read it like this. */
function takingNull(schema: JsonObject): JsonObject {
  return '$ref' in schema
    ? { type: 'object', nullable: true, allOf: [schema] }
    : { ...schema, nullable: true }
}

const isList = (value: Json | undefined): value is readonly Json[] => Array.isArray(value)
