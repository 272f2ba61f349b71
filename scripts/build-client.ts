// `npm run build:client`: writes client/src/resources.ts by the descriptions of resources and questions.
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
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
import { exportPath, streamPath } from '#service/http/paths'
import { PAGE_INFO } from '#service/openapi/openapi'
import { type Parameter, pathParameterOf } from '#service/questions/parameters'
import type { JsonSchema, Question } from '#service/questions/question'
import { QUESTIONS } from '#service/questions/questions'

const ROOT = dirname(import.meta.dirname)

/** The lists that are made of nodes of others. */
const OTHERS = LISTS.filter((list) => !RESOURCES.includes(list))

/** The file that this writes. */
export const CLIENT_TYPES = join(ROOT, 'client/src/resources.ts')

const HEAD = `/*
 * Made from the descriptions of the resources and the questions (src/core/resources, src/service/questions) by \`npm run build:client\`; not to be edited.
 */

/** A time: a Date, or Unix nanoseconds as a bigint or as digits. */
export type Time = bigint | string | Date
`

/** Description of a form's values, if the field's meaning does not give it. */
const NOTES: Partial<Record<ValueForm & string, string>> = {
  integer: 'Digits.',
  signed: 'Digits, with a sign if below zero.',
  time: 'Digits: `BigInt(value) / 1_000_000n` are milliseconds.',
  number: 'A decimal number as the network sent it; too long for a JavaScript number.',
}

/** The client's type for a filter of each type. */
export const FILTER_TYPES: Record<Filter['type'], string> = {
  marketId: 'string',
  assetId: 'string',
  partyId: 'string',
  partyIds: 'readonly string[]',
  traderId: 'string',
  source: 'DataPointSource',
  uint64: 'string | bigint | number',
}

/** The client's file of types and paths, as it is to be. */
export function clientTypes(): string {
  const types = new Map<string, string>()
  for (const { nodeName, meaning, fields } of [...RESOURCES, ...NODE_PARTS, ...OTHERS])
    addObject(types, nodeName, meaning, fields)
  schemaType(types, { ...PAGE_INFO, title: 'PageInfo' })
  const reports = QUESTIONS.flatMap((question) => reportOf(types, question))
  const parts = [
    HEAD,
    ...types.values(),
    ...LISTS.map(filtersType),
    // Editors also show the meanings of these properties for the methods of the client.
    recordType(
      'Nodes',
      'The node of each list.',
      LISTS,
      ({ nodeName }) => nodeName,
      ({ summary }) => `${summary}.`,
    ),
    'export type ListName = keyof Nodes\n',
    recordType(
      'Filters',
      'The filters of each list.',
      LISTS,
      (list) => filtersName(list) + neededType(list, 'list'),
    ),
    recordType(
      'StreamFilters',
      'The filters of each stream: those of the list, without times; the market is optional.',
      LISTS,
      streamFiltersType,
    ),
    `/** The parts of a market's summary that have changed; the whole at first. */
export type MarketSummaryChange = Pick<${marketSummaries.nodeName}, 'marketId'> & Partial<${marketSummaries.nodeName}>\n`,
    recordType('StreamNodes', 'What each stream sends.', LISTS, ({ name, nodeName }) =>
      name === marketSummaries.name ? 'MarketSummaryChange' : nodeName,
    ),
    'export type StreamName = keyof StreamNodes\n',
    `/** The lists that have exports, too. */\nexport type ResourceName = Exclude<StreamName, ${OTHERS.map(({ name }) => `'${name}'`).join(' | ')}>\n`,
    filteredType('FilteredName', 'The lists of which some filter must be given.', 'list', LISTS),
    filteredType('FilteredStreamName', 'The same of streams.', 'stream', LISTS),
    namesType('FILTER_NAMES', 'ListName', 'The names of the filters of each list.', LISTS, filterNames),
    namesType(
      'STREAM_FILTER_NAMES',
      'StreamName',
      'The names of the filters of each stream.',
      LISTS,
      (resource) => (resource === marketSummaries ? [] : filterNames(resource, false)),
    ),
    `/** Path of each list; \`:marketId\` is the market of the filters. */
export const PATHS: Record<ListName, string> = {
${LISTS.map(({ name, path }) => `${name}: '${path}',`).join('\n')}
}\n`,
    `/** Path of all rows of each resource, of all markets. */
export const EXPORT_PATHS: Record<ResourceName, string> = {
${RESOURCES.map((resource) => `${resource.name}: '${exportPath(resource)}',`).join('\n')}
}\n`,
    `/** Where each stream is. */
export const STREAM_PATHS: Record<StreamName, string> = {
${LISTS.map((resource) => `${resource.name}: '${streamPath(resource)}',`).join('\n')}
}\n`,
    `/** The methods that answer with one object. */
export type Reports = {\n${reports.map(({ method }) => method).join('\n')}\n}\n`,
    `/** Where each of these objects is, whether it is the whole body of the answer or its one field, and the parameter for each option. */
export const REPORTS: Record<keyof Reports, { path: string; isBody?: true; options: Readonly<Record<string, string>> }> = {
${reports.map(({ entry }) => entry).join('\n')}
}\n`,
  ]
  return formatted(parts.join('\n'))
}

/** The method for a question whose answer is one object, and its entry in the table of paths; nothing for a list. */
function reportOf(
  types: Map<string, string>,
  { path, parameters, description }: Question,
): { method: string; entry: string }[] {
  if ('list' in description) return []
  const [[field, first] = ['', {}], ...others] = Object.entries(description.body.properties ?? {})
  const { name = field } = description
  const typeName = `${name[0]!.toUpperCase()}${name.slice(1)}`
  const summary = comment(`${description.summary}.`)
  const isBody = others.length > 0
  const schema = isBody ? description.body : first
  let answer = schemaType(types, schema)
  if (schema.type === 'object') {
    const answerName = isBody ? `${typeName}Answer` : typeName
    types.set(answerName, `${summary}export type ${answerName} = ${answer}\n`)
    answer = answerName
  }
  const options = parameters
    .map((parameter) => ({ option: optionOf(parameter), parameter }))
    .sort((a, b) => Number(isTime(b.parameter)) - Number(isTime(a.parameter)))
  const line = ({ option, parameter }: (typeof options)[number]) => {
    const [mark, otherwise] = parameter.isRequired === true ? ['', ''] : ['?', ' | undefined']
    return `${comment(parameter.description)}${option}${mark}: ${parameterType(types, parameter)}${otherwise}`
  }
  const alternatives = options.filter(({ parameter }) => description.alternatives?.includes(parameter.name))
  const usual = options.filter((option) => !alternatives.includes(option))
  const either = alternatives
    .map((one, index) => `{ ${line(one)}; ${alternatives[1 - index]!.option}?: never }`)
    .join(' | ')
  const optionsName = `${typeName}Options`
  types.set(
    optionsName,
    `${comment(`The options of \`${name}\`.`)}export type ${optionsName} = {\n${usual.map(line).join('\n')}\nsignal?: AbortSignal | undefined\n}${either === '' ? '' : ` & (${either})`}\n`,
  )
  const ofPath = pathParameterOf(path)
  const id = ofPath === null ? '' : `${ofPath.name}: string, `
  const needed = description.filtersOf?.required.list ?? []
  const isNeeded = needed.length > 0 || parameters.some(({ isRequired }) => isRequired)
  const optional = isNeeded ? '' : '?'
  return [
    {
      method: `${summary}${name}(${id}options${optional}: ${optionsName}): Promise<${answer}>`,
      entry: `${name}: { path: '${path}', ${isBody ? 'isBody: true, ' : ''}options: {${options.map(({ option, parameter }) => `${option}: '${parameter.name}'`)}} },`,
    },
  ]
}

const isTime = ({ type }: Parameter) => 'format' in type.schema && type.schema.format === 'int64'

/** The client's names for the ends of a time range, as in lists. */
const RANGE_OPTIONS: Record<string, string> = {
  'dateRange.startTimestamp': 'from',
  'dateRange.endTimestamp': 'to',
}

const optionOf = ({ name }: Parameter) => RANGE_OPTIONS[name] ?? name.slice(name.lastIndexOf('.') + 1)

function parameterType(types: Map<string, string>, parameter: Parameter): string {
  const filter = Object.entries(FILTERS).find(([name]) => name === parameter.name)
  if (filter !== undefined) return FILTER_TYPES[filter[1].type]
  if (isTime(parameter)) return 'Time'
  const schema = parameter.type.schema as JsonSchema & { format?: string }
  return schema.format === 'uint64' ? FILTER_TYPES.uint64 : schemaType(types, schema)
}

/** The type that a schema describes; named if the schema has a title. */
function schemaType(types: Map<string, string>, schema: JsonSchema): string {
  const { title } = schema
  if (title === undefined) return schemaText(types, schema)
  const text = `export type ${title} = ${schemaText(types, schema)}\n`
  if (types.has(title) && types.get(title) !== text) throw new TypeError(`two types are called ${title}`)
  types.set(title, text)
  return title
}

function schemaText(types: Map<string, string>, schema: JsonSchema): string {
  if (schema.$ref !== undefined) return schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1)
  if (schema.oneOf !== undefined)
    return schema.oneOf
      .map((one) => schemaType(types, one))
      .toReversed()
      .join(' | ')
  if (schema.enum !== undefined) return schema.enum.map((name) => `'${name}'`).join(' | ')
  if (schema.items !== undefined) return `(${schemaType(types, schema.items)})[]`
  if (schema.type === 'integer') return 'number'
  if (schema.properties === undefined) return schema.type ?? 'unknown'
  const lines = Object.entries(schema.properties).map(([name, property]) => {
    const meaning = property.description === undefined ? '' : comment(property.description)
    const isOptional = schema.required?.includes(name) === false
    return `${meaning}'${name}'${isOptional ? '?' : ''}: ${schemaType(types, property)}`
  })
  return `{\n${lines.join('\n')}\n}`
}

/** The lists or streams of which some filter must be given, as a union. */
function filteredType(name: string, meaning: string, kind: RequestKind, lists: readonly Resource[]): string {
  const filtered = lists.filter(
    ({ scope, required }) => (kind === 'list' && scope !== null) || required[kind] !== undefined,
  )
  return `${comment(meaning)}export type ${name} = ${filtered.map((list) => `'${list.name}'`).join(' | ')}\n`
}

const comment = (text: string) => `/** ${text} */\n`

/** Adds the type of an object, behind those of the objects and names within it. */
function addObject(
  types: Map<string, string>,
  typeName: string,
  meaning: string,
  fields: readonly (Field | StoredField)[],
): void {
  const lines = fields.map((field) => {
    const note = typeof field.form === 'string' ? NOTES[field.form as keyof typeof NOTES] : undefined
    const ifNull = 'ifNull' in field ? field.ifNull : undefined
    const type = `${typeOf(types, field)}${ifNull === 'null' ? ' | null' : ''}`
    const text = note === undefined ? field.meaning : `${field.meaning} ${note}`
    return `${comment(text)}'${field.name}'${ifNull === 'left out' ? '?' : ''}: ${type}`
  })
  types.set(typeName, `${comment(meaning)}export type ${typeName} = {\n${lines.join('\n')}\n}\n`)
}

function typeOf(types: Map<string, string>, { form, meaning }: Field | StoredField): string {
  if (form === 'texts') return 'string[]'
  if (form === 'boolean') return 'boolean'
  if (isStored(form)) addObject(types, form.typeName, meaning, form.stored)
  else if (isList(form)) {
    addObject(types, form.typeName, form.meaning, form.elements)
    return `${form.typeName}[]`
  } else if (isNodeOf(form)) return form.nodeOf
  else if (isObject(form)) addObject(types, form.typeName, meaning, form.object)
  else {
    const names = namesOf(form)
    if (names === null) return 'string'
    const { typeName } = form as { typeName: string }
    const union = names.map((name) => `'${name}'`).join(' | ')
    types.set(typeName, `${comment(meaning)}export type ${typeName} = ${union}\n`)
    return typeName
  }
  return form.typeName
}

const filtersName = (resource: Resource) =>
  filterNames(resource).length === 0 ? 'Record<string, never>' : `${resource.nodeName}Filters`

function streamFiltersType(resource: Resource): string {
  const { scope } = resource
  const name = filtersName(resource)
  if (resource === marketSummaries) return 'Record<string, never>'
  const ofList = takesDates(resource) ? `Omit<${name}, 'from' | 'to'>` : name
  return (scope === null ? ofList : `Partial<${ofList}>`) + neededType(resource, 'stream')
}

/** The one filter that a kind of request needs. */
function neededType({ filters, required }: Resource, kind: RequestKind): string {
  const [name, ...others] = required[kind] ?? []
  const filter = filters.find((one) => one.name === name)
  return filter === undefined || others.length > 0 ? '' : ` & { ${name}: ${FILTER_TYPES[filter.type]} }`
}

function filtersType(resource: Resource): string {
  const { scope, filters, required } = resource
  const name = filtersName(resource)
  if (name.startsWith('Record')) return ''
  const given = ({ name, type, meaning }: Filter) =>
    `${comment(meaning)}${name}?: ${FILTER_TYPES[type]} | undefined`
  const lines = [
    ...(scope === null ? [] : [`${comment(FILTERS[scope].meaning)}${scope}: string`]),
    ...filters.map(given),
    ...(takesDates(resource)
      ? [
          `${comment(resource.dateRange ? 'Rows from this time on, inclusive.' : 'Rows that end after this time, or have no end yet.')}from?: Time | undefined`,
          `${comment(resource.dateRange ? 'Rows before this time.' : 'Rows that begin before this time.')}to?: Time | undefined`,
        ]
      : []),
  ]
  const needed = required.list === undefined ? '' : `; at least one of ${required.list.join(' and ')}`
  return `${comment(`Filters of a list of ${resource.kebabName.replaceAll('-', ' ')}${needed}.`)}export type ${name} = {\n${lines.join('\n')}\n}\n`
}

/** The names of the filters of a list, in the order of its type. */
function filterNames(resource: Resource, hasDates = takesDates(resource)): string[] {
  const { scope, filters } = resource
  const names = filters.map(({ name }) => name)
  return [...(scope === null ? [] : [scope]), ...names, ...(hasDates ? ['from', 'to'] : [])]
}

function namesType(
  name: string,
  keys: string,
  meaning: string,
  lists: readonly Resource[],
  namesOfOne: (resource: Resource) => string[],
): string {
  const lines = lists.map(
    (resource) => `${resource.name}: [${namesOfOne(resource).map((one) => `'${one}'`)}],`,
  )
  return `${comment(meaning)}export const ${name}: Record<${keys}, readonly string[]> = {\n${lines.join('\n')}\n}\n`
}

function recordType(
  name: string,
  meaning: string,
  lists: readonly Resource[],
  typeOfOne: (resource: Resource) => string,
  meaningOfOne?: (resource: Resource) => string,
): string {
  const lines = lists.map((resource) => {
    const line = `${resource.name}: ${typeOfOne(resource)}`
    return meaningOfOne === undefined ? line : comment(meaningOfOne(resource)) + line
  })
  return `${comment(meaning)}export type ${name} = {\n${lines.join('\n')}\n}\n`
}

/** The text as Biome formats it. */
function formatted(text: string): string {
  const biome = join(ROOT, 'node_modules/.bin/biome')
  const { status, stdout, stderr } = spawnSync(biome, ['format', `--stdin-file-path=${CLIENT_TYPES}`], {
    cwd: ROOT,
    input: text,
    encoding: 'utf8',
    shell: process.platform === 'win32',
  })
  if (status !== 0) throw new Error(`biome cannot format the types of the client: ${stderr}`)
  return stdout
}

if (import.meta.main) writeFileSync(CLIENT_TYPES, clientTypes())
