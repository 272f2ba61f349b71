import { columnOf, type Field, isObject } from '#core/model/field'
import { FILTERS } from '#core/model/filters'
import { type RequestKind, type Resource, takesDates, wordsOf } from '#core/model/resource'
import { LISTS, RESOURCES } from '#core/resources/resources'
import { TABLES } from '#core/store/schema/tables'
import { VIEWS } from '#core/store/views/views'
import { streamPath } from '#service/http/paths'
import { FILTER_TYPES } from './build-client.ts'

/*
 * The parts of pages that name every resource, from the descriptions. On a page each stands between two comments:
 * `<!-- generated: NAME -->` and `<!-- end -->`.
 */

/** Generated parts by page and name; a part may depend on the page's text. */
export const GENERATED_PARTS: Record<string, Record<string, (page: string) => string>> = {
  'docs/api.md': { lists: listsTable, order: orderTable },
  'docs/streams.md': { streams: streamsTable },
  'docs/sql.md': { views: viewTables },
  'client/README.md': {
    lists: clientLists,
    pages: clientPages,
    streams: clientStreams,
    filters: clientFilters,
  },
}

/**
 * A page with its generated parts.
 *
 * @throws {TypeError} if the page has no place for one of them.
 */
export function withGeneratedParts(path: string, page: string): string {
  let text = page
  for (const [name, partOf] of Object.entries(GENERATED_PARTS[path]!)) {
    const place = new RegExp(`(<!-- generated: ${name} -->\n)[^]*?(<!-- end -->)`)
    if (!place.test(text)) throw new TypeError(`${path} has no <!-- generated: ${name} -->`)
    text = text.replace(place, (_, start: string, end: string) => `${start}${partOf(page)}\n${end}`)
  }
  return text
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`.replaceAll('|  |', '| |')
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n')
}

const code = (text: string) => `\`${text}\``

/** The requests of lists; a star marks those that the data node has. */
function listsTable(page: string): string {
  return table(
    ['request', 'filters', 'rows'],
    RESOURCES.map((resource) => {
      const { path, isOfReference, summary } = resource
      const request = path.replaceAll(/:(\w+)/g, '{$1}')
      const rows = summary.replace(/^List (?:the )?/, '')
      return [
        `${code(request)}${isOfReference ? ' *' : ''}`,
        filtersText(resource, 'list', takesDates(resource)),
        `[${rows}](#${sectionOf(page, request)})`,
      ]
    }),
  )
}

/** The anchor of the section that describes a request. */
function sectionOf(page: string, request: string): string {
  const heading = new RegExp(`^### (.+)\n\n\`GET ${request.replaceAll(/[{}]/g, '\\$&')}\``, 'm').exec(
    page,
  )?.[1]
  if (heading === undefined)
    throw new TypeError(`docs/api.md has no section that begins with \`GET ${request}\``)
  return heading.toLowerCase().replaceAll(' ', '-')
}

/** The order of each list, and which rows there are. */
function orderTable(): string {
  return table(
    ['list', 'sorted by', 'one row for each'],
    RESOURCES.map((resource) => {
      const { key, scope, storage } = resource
      const found = TABLES.find(({ name }) => name === storage.table)
      const columns = found?.columns.slice(0, found.keyLength).map(({ name }) => name)
      const order = key.map(({ column }) => column)
      const identity = columns?.filter((name) => scope === null || !/^market(?:_id)?$/.test(name)) ?? order
      const isSame = new Set([...order, ...identity]).size === Math.min(order.length, identity.length)
      return [wordsOf(resource), namesOf(resource, order), isSame ? 'the same' : namesOf(resource, identity)]
    }),
  )
}

/** The fields of columns: `marketId`, `timestamp`. */
function namesOf({ name, fields, key }: Resource, columns: readonly string[]): string {
  const fieldOf = (column: string, among: readonly Field[]): string | undefined => {
    for (const field of among) {
      if (isObject(field.form)) {
        const within = fieldOf(column, field.form.object)
        if (within !== undefined) return within
      } else if (columnOf(field) === column) return field.name
    }
    return undefined
  }
  return columns
    .map((column) => {
      const hidden = key.find((one) => one.column === column)?.hidden
      if (hidden !== undefined) return hidden
      const field = fieldOf(column, fields)
      if (field === undefined) throw new TypeError(`${name}: no field shows ${column}`)
      return code(field)
    })
    .join(', ')
}

/** The filters of a request: `marketId`, `partyId` (required); those in the path are not listed. */
function filtersText({ scope, filters, required }: Resource, kind: RequestKind, hasDates: boolean): string {
  const needed = required[kind] ?? []
  const names = filters.map(({ name }) =>
    needed.length === 1 && needed[0] === name ? `${code(name)} (required)` : code(name),
  )
  if (kind === 'stream' && scope !== null) names.unshift(code(scope))
  if (hasDates) names.push('dates')
  const text = names.join(', ')
  if (needed.length < 2) return text
  return `${text}; at least one${needed.length === names.length ? '' : ` of ${needed.map(code).join(' and ')}`}`
}

function streamsTable(): string {
  return table(
    ['path under `/api/v2/stream/`', 'filters'],
    [
      ...RESOURCES.map((resource) => [
        code(streamPath(resource).replace('/api/v2/stream/', '')),
        filtersText(resource, 'stream', false),
      ]),
      ['[`market-summaries`](#market-summaries)', 'none'],
    ],
  )
}

/** A section for each view, with its columns in their order. */
function viewTables(): string {
  return VIEWS.map(({ name, meaning, columns }) => {
    const rows = columns.map((column) => [code(column.name), column.type, column.meaning])
    return `### ${name}\n\n${meaning}\n\n${table(['column', 'type', 'meaning'], rows)}\n`
  }).join('\n')
}

const program = (...lines: readonly string[]) => ['```ts', ...lines, '```'].join('\n')

/** Whether a request of a kind needs some filter. */
const needsFilters = ({ scope, required }: Resource, kind: RequestKind) =>
  (kind === 'list' && scope !== null) || required[kind] !== undefined

/** Most characters of a line. */
const MOST_WIDE = 120

/** A method of the client as a type has it, on several lines if it is long. */
function method(name: string, parameters: readonly string[], result: string): string {
  const line = `  ${name}(${parameters.join(', ')}): ${result}`
  if (line.length <= MOST_WIDE) return line
  return [`  ${name}(`, ...parameters.map((parameter) => `    ${parameter},`), `  ): ${result}`].join('\n')
}

function clientLists(): string {
  const nodes = [...new Set(LISTS.map(({ nodeName }) => nodeName))].sort()
  return program(
    'import type {',
    ...nodes.map((node) => `  ${node},`),
    "} from 'lyra-client'",
    '',
    'type Lists = {',
    ...LISTS.map((list) => {
      const parameters = [filtersArgument(list, 'Filters', 'list'), 'options?: ListOptions']
      return method(list.name, parameters, `Rows<${list.nodeName}>`)
    }),
    '}',
  )
}

function clientPages(): string {
  return program(
    'type Pages = {',
    ...LISTS.map((list) => {
      const parameters = [filtersArgument(list, 'Filters', 'list'), 'options?: PageOptions']
      return method(`${list.name}Page`, parameters, `Promise<Page<${list.nodeName}>>`)
    }),
    '}',
  )
}

function clientStreams(): string {
  return program(
    'type RowStreams = {',
    ...RESOURCES.map((list) => {
      const name = `stream${list.name[0]!.toUpperCase()}${list.name.slice(1)}`
      const parameters = [filtersArgument(list, 'StreamFilters', 'stream'), 'options?: StreamOptions']
      return method(name, parameters, `Rows<{ row: ${list.nodeName}; cursor: string }>`)
    }),
    '}',
  )
}

const filtersArgument = (list: Resource, type: string, kind: RequestKind) =>
  `filters${needsFilters(list, kind) ? '' : '?'}: ${type}['${list.name}']`

function clientFilters(): string {
  return program(
    'type Filters = {',
    ...LISTS.map((list) => `  ${list.name}: ${clientFiltersOf(list, 'list')}`),
    '}',
    'type StreamFilters = {',
    ...RESOURCES.map((list) => `  ${list.name}: ${clientFiltersOf(list, 'stream')}`),
    '}',
  )
}

function clientFiltersOf(list: Resource, kind: RequestKind): string {
  const { scope, filters, required } = list
  const needed = required[kind] ?? []
  const isNeeded = (name: string) => needed.length === 1 && needed[0] === name
  const typeOf = (type: keyof typeof FILTER_TYPES) => FILTER_TYPES[type].replace('DataPointSource', 'Source')
  const parts = [
    ...(scope === null ? [] : [`${scope}${kind === 'list' ? '' : '?'}: ${typeOf(FILTERS[scope].type)}`]),
    ...filters.map(({ name, type }) => `${name}${isNeeded(name) ? '' : '?'}: ${typeOf(type)}`),
    ...(takesDates(list) && kind === 'list' ? ['from?: Time', 'to?: Time'] : []),
  ]
  const text = parts.length === 0 ? 'None' : `{ ${parts.join('; ')} }`
  return needed.length > 1 ? `${text} // at least one of ${needed.join(' and ')}` : text
}
