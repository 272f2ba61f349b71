// `npm run build:client`: writes client/src/resources.ts and python/src/lyra_client/resources.py by the descriptions of
// resources and questions.
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { ValueForm } from '#core/model/field'
import { type Filter, type RequestKind, type Resource, takesDates } from '#core/model/resource'
import { marketSummaries } from '#core/resources/market-summaries'
import { LISTS, RESOURCES } from '#core/resources/resources'
import { exportPath, streamPath } from '#service/http/paths'
import {
  type ClientReport,
  type ClientType,
  clientModel,
  filteredLists,
  filterNames,
  listFilters,
  type NamedType,
  type Option,
  OTHERS,
  type Property,
  streamFilterNames,
} from './client-model.ts'
import { PYTHON_TYPES, pythonTypes } from './python-client.ts'

const ROOT = dirname(import.meta.dirname)

/** The file of the TypeScript client. */
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
  const { types, reports } = clientModel()
  const parts = [
    HEAD,
    ...types.map(typeText),
    ...reports.map(optionsType),
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
    filteredType('FilteredName', 'The lists of which some filter must be given.', 'list'),
    filteredType('FilteredStreamName', 'The same of streams.', 'stream'),
    namesType('FILTER_NAMES', 'ListName', 'The names of the filters of each list.', LISTS, filterNames),
    namesType(
      'STREAM_FILTER_NAMES',
      'StreamName',
      'The names of the filters of each stream.',
      LISTS,
      streamFilterNames,
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
export type Reports = {\n${reports.map(reportMethod).join('\n')}\n}\n`,
    `/** Where each of these objects is, whether it is the whole body of the answer or its one field, and the parameter for each option. */
export const REPORTS: Record<keyof Reports, { path: string; isBody?: true; options: Readonly<Record<string, string>> }> = {
${reports.map(reportEntry).join('\n')}
}\n`,
  ]
  return formatted(parts.join('\n'))
}

const typeText = ({ name, meaning, type }: NamedType) =>
  `${meaning === null ? '' : comment(meaning)}export type ${name} = ${textOf(type)}\n`

function textOf(type: ClientType): string {
  if (type.is === 'named') return type.name
  if (type.is === 'one of') return type.texts.map((text) => `'${text}'`).join(' | ')
  if (type.is === 'list') return `(${textOf(type.of)})[]`
  if (type.is === 'union') return type.of.map(textOf).join(' | ')
  if (type.is === 'object') return `{\n${type.properties.map(propertyText).join('\n')}\n}`
  if (type.is === 'filter') return FILTER_TYPES[type.type]
  if (type.is === 'time') return 'Time'
  return type.name === 'integer' ? 'number' : type.name
}

function propertyText({ name, type, meaning, form, isOptional }: Property): string {
  const note = form === undefined ? undefined : NOTES[form]
  const text = note === undefined ? meaning : `${meaning} ${note}`
  return `${text === null ? '' : comment(text)}'${name}'${isOptional ? '?' : ''}: ${textOf(type)}`
}

function optionText({ name, meaning, type, isRequired }: Option): string {
  const [mark, otherwise] = isRequired ? ['', ''] : ['?', ' | undefined']
  return `${comment(meaning)}${name}${mark}: ${textOf(type)}${otherwise}`
}

const optionsName = ({ typeName }: ClientReport) => `${typeName}Options`

function optionsType(report: ClientReport): string {
  const { name, options, alternatives } = report
  const usual = options.filter((option) => !alternatives.includes(option))
  const either = alternatives
    .map((one, index) => `{ ${optionText(one)}; ${alternatives[1 - index]!.name}?: never }`)
    .join(' | ')
  return `${comment(`The options of \`${name}\`.`)}export type ${optionsName(report)} = {\n${usual.map(optionText).join('\n')}\nsignal?: AbortSignal | undefined\n}${either === '' ? '' : ` & (${either})`}\n`
}

function reportMethod(report: ClientReport): string {
  const { name, id, meaning, answer, isNeeded } = report
  const ofPath = id === null ? '' : `${id}: string, `
  return `${comment(meaning)}${name}(${ofPath}options${isNeeded ? '' : '?'}: ${optionsName(report)}): Promise<${textOf(answer)}>`
}

/** The entry in the table of paths. */
function reportEntry({ name, path, isBody, options }: ClientReport): string {
  const parameters = options.map(({ name, parameter }) => `${name}: '${parameter}'`)
  return `${name}: { path: '${path}', ${isBody ? 'isBody: true, ' : ''}options: {${parameters}} },`
}

/** The lists or streams of which some filter must be given, as a union. */
function filteredType(name: string, meaning: string, kind: RequestKind): string {
  const names = filteredLists(kind, LISTS).map((list) => `'${list.name}'`)
  return `${comment(meaning)}export type ${name} = ${names.join(' | ')}\n`
}

const comment = (text: string) => `/** ${text} */\n`

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
  const { scope, required } = resource
  const name = filtersName(resource)
  if (name.startsWith('Record')) return ''
  const lines = listFilters(resource).map(({ name, meaning, type }) => {
    const text = name === scope ? `${name}: ${textOf(type)}` : `${name}?: ${textOf(type)} | undefined`
    return comment(meaning) + text
  })
  const needed = required.list === undefined ? '' : `; at least one of ${required.list.join(' and ')}`
  return `${comment(`Filters of a list of ${resource.kebabName.replaceAll('-', ' ')}${needed}.`)}export type ${name} = {\n${lines.join('\n')}\n}\n`
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

if (import.meta.main) {
  writeFileSync(CLIENT_TYPES, clientTypes())
  writeFileSync(PYTHON_TYPES, pythonTypes())
}
