import { isDeepStrictEqual } from 'node:util'

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/** The parts of a document in which schemas are. */
type Described = { paths: object; components: { schemas: Readonly<Record<string, object>> } }

/**
 * A document in which each object schema with a title (`named`) is one component, to which its uses refer. Generators name
 * types after components, and invent another name for each use of a schema that is not one. The titles of other schemas, which
 * only the client uses, are left out.
 *
 * @throws {TypeError} if two different schemas have the same name
 */
export function withComponents<Document extends Described>(document: Document): Document {
  const schemas = new Map<string, Json>()
  const add = (name: string, schema: Json) => {
    if (schemas.has(name) && !isDeepStrictEqual(schemas.get(name), schema))
      throw new TypeError(`two schemas are called ${name}`)
    schemas.set(name, schema)
  }

  function referring(value: Json): Json {
    if (typeof value !== 'object' || value === null) return value
    if (isList(value)) return value.map(referring)
    const inner = Object.fromEntries(Object.entries(value).map(([key, one]) => [key, referring(one)]))
    const { title, description, ...schema } = inner
    if (typeof title !== 'string') return inner
    const beside = description === undefined ? {} : { description }
    if (schema.type !== 'object') return { ...schema, ...beside }
    add(title, schema)
    return { $ref: `#/components/schemas/${title}`, ...beside }
  }

  const paths = referring(document.paths as Json)
  for (const [name, schema] of Object.entries(document.components.schemas)) {
    add(name, referring(schema as Json))
  }
  const inOrder = Object.fromEntries([...schemas].sort(([a], [b]) => (a < b ? -1 : 1)))
  return { ...document, paths, components: { ...document.components, schemas: inOrder } }
}

const isList = (value: Json): value is readonly Json[] => Array.isArray(value)
