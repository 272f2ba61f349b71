import {
  type Field,
  isList,
  isNodeOf,
  isObject,
  isStored,
  namesOf,
  type StoredField,
  type ValueForm,
} from '#core/model/field'
import { FILTERS } from '#core/model/filters'
import { type Filter, type RequestKind, type Resource, takesDates } from '#core/model/resource'
import { marketSummaries } from '#core/resources/market-summaries'
import { LISTS, NODE_PARTS, RESOURCES } from '#core/resources/resources'
import { PAGE_INFO } from '#service/openapi/openapi'
import { type Parameter, pathParameterOf } from '#service/questions/parameters'
import type { JsonSchema, Question } from '#service/questions/question'
import { QUESTIONS } from '#service/questions/questions'

/*
 * The types and reports of the clients, in no language: build-client.ts writes them in TypeScript, python-client.ts in
 * Python.
 */

/** A type of a value in JSON, or of a parameter. */
export type ClientType =
  /** A type of JSON Schema (`string`, `integer`, `boolean`, `null`, `object`), or `unknown`. */
  | { is: 'plain'; name: string }
  /** One of {@link ClientModel.types}. */
  | { is: 'named'; name: string }
  /** One of these texts. */
  | { is: 'one of'; texts: readonly string[] }
  | { is: 'list'; of: ClientType }
  | { is: 'union'; of: readonly ClientType[] }
  | { is: 'object'; properties: readonly Property[] }
  /** Of parameters alone. */
  | { is: 'filter'; type: Filter['type'] }
  | { is: 'time' }

export type Property = {
  name: string
  type: ClientType
  meaning: string | null
  /** The form of its value, of which a language may say more; only of fields of nodes. */
  form?: ValueForm & string
  isOptional: boolean
}

export type NamedType = { name: string; meaning: string | null; type: ClientType }

/** An option of a report's method. */
export type Option = {
  name: string
  /** The parameter of the request. */
  parameter: string
  meaning: string
  type: ClientType
  isRequired: boolean
}

/** A method whose answer is one object. */
export type ClientReport = {
  name: string
  /** The same as the beginning of a type's name. */
  typeName: string
  path: string
  /** The id that is the path's last part; null if it has none. */
  id: string | null
  meaning: string
  answer: ClientType
  /** Whether the answer is the whole body, or its one field. */
  isBody: boolean
  options: readonly Option[]
  /** Those of which only one may be given: two or none. */
  alternatives: readonly Option[]
  /** Whether some option must be given. */
  isNeeded: boolean
}

export type ClientModel = {
  /** Each behind those that it names. */
  types: readonly NamedType[]
  reports: readonly ClientReport[]
}

/** The lists that are made of nodes of others. */
export const OTHERS = LISTS.filter((list) => !RESOURCES.includes(list))

/** What clients know of the service, from the descriptions of resources and questions. */
export function clientModel(): ClientModel {
  const types = new Map<string, NamedType>()
  for (const { nodeName, meaning, fields } of [...RESOURCES, ...NODE_PARTS, ...OTHERS])
    addObject(types, nodeName, meaning, fields)
  schemaType(types, { ...PAGE_INFO, title: 'PageInfo' })
  const reports = QUESTIONS.flatMap((question) => reportOf(types, question))
  return { types: [...types.values()], reports }
}

/** The method for a question whose answer is one object; nothing for a list. */
function reportOf(
  types: Map<string, NamedType>,
  { path, parameters, description }: Question,
): ClientReport[] {
  if ('list' in description) return []
  const [[field, first] = ['', {}], ...others] = Object.entries(description.body.properties ?? {})
  const { name = field } = description
  const typeName = `${name[0]!.toUpperCase()}${name.slice(1)}`
  const meaning = `${description.summary}.`
  const isBody = others.length > 0
  const schema = isBody ? description.body : first
  let answer = schemaType(types, schema)
  if (schema.type === 'object') {
    const answerName = isBody ? `${typeName}Answer` : typeName
    types.set(answerName, { name: answerName, meaning, type: answer })
    answer = { is: 'named', name: answerName }
  }
  const options = parameters
    .map(
      (parameter): Option => ({
        name: optionOf(parameter),
        parameter: parameter.name,
        meaning: parameter.description,
        type: parameterType(types, parameter),
        isRequired: parameter.isRequired === true,
      }),
    )
    .sort((a, b) => Number(b.type.is === 'time') - Number(a.type.is === 'time'))
  const needed = description.filtersOf?.required.list ?? []
  return [
    {
      name,
      typeName,
      path,
      id: pathParameterOf(path)?.name ?? null,
      meaning,
      answer,
      isBody,
      options,
      alternatives: options.filter(({ parameter }) => description.alternatives?.includes(parameter)),
      isNeeded: needed.length > 0 || options.some(({ isRequired }) => isRequired),
    },
  ]
}

const isTime = ({ type }: Parameter) => 'format' in type.schema && type.schema.format === 'int64'

/** The parameters of the ends of a time range, by the name of the option or filter. */
const RANGE_PARAMETERS: Record<string, string> = {
  from: 'dateRange.startTimestamp',
  to: 'dateRange.endTimestamp',
}

/** The parameter of a filter. */
export const parameterOf = (filter: string) => RANGE_PARAMETERS[filter] ?? filter

const optionOf = ({ name }: Parameter) =>
  Object.keys(RANGE_PARAMETERS).find((option) => RANGE_PARAMETERS[option] === name) ??
  name.slice(name.lastIndexOf('.') + 1)

function parameterType(types: Map<string, NamedType>, parameter: Parameter): ClientType {
  const filter = Object.entries(FILTERS).find(([name]) => name === parameter.name)
  if (filter !== undefined) return { is: 'filter', type: filter[1].type }
  if (isTime(parameter)) return { is: 'time' }
  const schema = parameter.type.schema as JsonSchema & { format?: string }
  return schema.format === 'uint64' ? { is: 'filter', type: 'uint64' } : schemaType(types, schema)
}

/** The type that a schema describes; named if the schema has a title. */
function schemaType(types: Map<string, NamedType>, schema: JsonSchema): ClientType {
  const { title } = schema
  const type = plainSchemaType(types, schema)
  if (title === undefined) return type
  const named: NamedType = { name: title, meaning: null, type }
  if (types.has(title) && JSON.stringify(types.get(title)) !== JSON.stringify(named))
    throw new TypeError(`two types are called ${title}`)
  types.set(title, named)
  return { is: 'named', name: title }
}

function plainSchemaType(types: Map<string, NamedType>, schema: JsonSchema): ClientType {
  if (schema.$ref !== undefined)
    return { is: 'named', name: schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1) }
  if (schema.oneOf !== undefined)
    return { is: 'union', of: schema.oneOf.map((one) => schemaType(types, one)).toReversed() }
  if (schema.enum !== undefined) return { is: 'one of', texts: schema.enum.map(String) }
  if (schema.items !== undefined) return { is: 'list', of: schemaType(types, schema.items) }
  if (schema.properties === undefined) return { is: 'plain', name: schema.type ?? 'unknown' }
  const properties = Object.entries(schema.properties).map(
    ([name, property]): Property => ({
      name,
      type: schemaType(types, property),
      meaning: property.description ?? null,
      isOptional: schema.required?.includes(name) === false,
    }),
  )
  return { is: 'object', properties }
}

/** Adds the type of an object, behind those of the objects and names within it. */
function addObject(
  types: Map<string, NamedType>,
  name: string,
  meaning: string,
  fields: readonly (Field | StoredField)[],
): void {
  const properties = fields.map((field): Property => {
    const ifNull = 'ifNull' in field ? field.ifNull : undefined
    const type = typeOf(types, field)
    return {
      name: field.name,
      type: ifNull === 'null' ? { is: 'union', of: [type, { is: 'plain', name: 'null' }] } : type,
      meaning: field.meaning,
      ...(typeof field.form === 'string' ? { form: field.form as ValueForm & string } : {}),
      isOptional: ifNull === 'left out',
    }
  })
  types.set(name, { name, meaning, type: { is: 'object', properties } })
}

function typeOf(types: Map<string, NamedType>, { form, meaning }: Field | StoredField): ClientType {
  if (form === 'texts') return { is: 'list', of: { is: 'plain', name: 'string' } }
  if (form === 'boolean') return { is: 'plain', name: 'boolean' }
  if (isStored(form)) addObject(types, form.typeName, meaning, form.stored)
  else if (isList(form)) {
    addObject(types, form.typeName, form.meaning, form.elements)
    return { is: 'list', of: { is: 'named', name: form.typeName } }
  } else if (isNodeOf(form)) return { is: 'named', name: form.nodeOf }
  else if (isObject(form)) addObject(types, form.typeName, meaning, form.object)
  else {
    const texts = namesOf(form)
    if (texts === null) return { is: 'plain', name: 'string' }
    const { typeName } = form as { typeName: string }
    types.set(typeName, { name: typeName, meaning, type: { is: 'one of', texts } })
    return { is: 'named', name: typeName }
  }
  return { is: 'named', name: form.typeName }
}

/** The names of the filters of a list, in the order of its type. */
export function filterNames(resource: Resource, hasDates = takesDates(resource)): string[] {
  const { scope, filters } = resource
  const names = filters.map(({ name }) => name)
  return [...(scope === null ? [] : [scope]), ...names, ...(hasDates ? ['from', 'to'] : [])]
}

/** The same of its stream, which has no times. */
export const streamFilterNames = (resource: Resource) =>
  resource === marketSummaries ? [] : filterNames(resource, false)

/** A filter of a list, with the meaning of its value. */
export type ListFilter = { name: string; meaning: string; type: ClientType; isRequired: boolean }

/** The filters of a list. */
export function listFilters(resource: Resource): ListFilter[] {
  const { scope, filters, required, dateRange } = resource
  const [needed, ...others] = required.list ?? []
  const listFilter = ({ name, type, meaning }: Pick<Filter, 'name' | 'type' | 'meaning'>): ListFilter => ({
    name,
    meaning,
    type: { is: 'filter', type },
    isRequired: name === scope || (name === needed && others.length === 0),
  })
  const times: ListFilter[] = [
    {
      name: 'from',
      meaning: dateRange
        ? 'Rows from this time on, inclusive.'
        : 'Rows that end after this time, or have no end yet.',
      type: { is: 'time' },
      isRequired: false,
    },
    {
      name: 'to',
      meaning: dateRange ? 'Rows before this time.' : 'Rows that begin before this time.',
      type: { is: 'time' },
      isRequired: false,
    },
  ]
  return [
    ...(scope === null
      ? []
      : [listFilter({ name: scope, type: FILTERS[scope].type, meaning: FILTERS[scope].meaning })]),
    ...filters.map(listFilter),
    ...(takesDates(resource) ? times : []),
  ]
}

/** The lists or streams of which some filter must be given. */
export const filteredLists = (kind: RequestKind, lists: readonly Resource[]) =>
  lists.filter(({ scope, required }) => (kind === 'list' && scope !== null) || required[kind] !== undefined)
