import { dirname, join } from 'node:path'
import { wordsOfName } from '#core/domain/words'
import type { ValueForm } from '#core/model/field'
import type { Filter, Resource } from '#core/model/resource'
import { marketSummaries } from '#core/resources/market-summaries'
import { LISTS, RESOURCES } from '#core/resources/resources'
import { exportPath, streamPath } from '#service/http/paths'
import {
  type ClientReport,
  type ClientType,
  clientModel,
  filterNames,
  type ListFilter,
  listFilters,
  type NamedType,
  type Property,
  parameterOf,
  streamFilterNames,
} from './client-model.ts'

/** The file of the Python client that `npm run build:client` writes. */
export const PYTHON_TYPES = join(dirname(import.meta.dirname), 'python/src/lyra_client/resources.py')

/** Most characters of a line. */
const WIDTH = 110

const HEAD = `"""Types and methods of the client, from the descriptions of resources and questions in Lyra's source.

\`npm run build:client\` writes this file. Fields of types have the names of the API, in camel case; methods and
their arguments are in snake case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NotRequired, Required, TypeAlias, TypedDict, Unpack, overload

from lyra_client.connection import Connection
from lyra_client.exports import read_export
from lyra_client.pages import PAGE_SIZE, Page, PageRow, read_page, walk_pages
from lyra_client.reports import read_report
from lyra_client.requests import Resource, Time, named, path_part
from lyra_client.streams import Stream, follow_stream
`

/** Description of a form's values, if the field's meaning does not give it. */
const NOTES: Partial<Record<ValueForm & string, string>> = {
  integer: 'Digits.',
  signed: 'Digits, with a sign if below zero.',
  time: 'Digits: see `to_datetime`.',
  number: 'A decimal number as the network sent it, for `decimal.Decimal`.',
}

const FILTER_TYPES: Record<Filter['type'], string> = {
  marketId: 'str',
  assetId: 'str',
  partyId: 'str',
  partyIds: 'Sequence[str]',
  traderId: 'str',
  source: 'DataPointSource',
  uint64: 'int | str',
}

const PLAIN_TYPES: Record<string, string> = {
  string: 'str',
  integer: 'int',
  boolean: 'bool',
  null: 'None',
  object: 'dict[str, object]',
  unknown: 'object',
}

/** Names of arguments that are others in Python, where \`from\` is a keyword. */
const ARGUMENTS: Record<string, string> = { from: 'start', to: 'end' }

const argumentOf = (name: string) => ARGUMENTS[name] ?? wordsOfName(name, '_')

/** A resource's name in Python, and that of its constant. */
const pythonName = ({ name }: Resource) => wordsOfName(name, '_')
const constantOf = (resource: Resource) => pythonName(resource).toUpperCase()

/** What the stream of a list sends. */
const changeOf = (resource: Resource) =>
  resource === marketSummaries ? 'MarketSummaryChange' : resource.nodeName

/** The Python client's file of types and methods, as it is to be. */
export function pythonTypes(): string {
  const { types, reports } = clientModel()
  const all = types.flatMap(withInnerTypes)
  const filters = LISTS.filter((list) => filterNames(list).length > 0)
  const parts = [
    HEAD,
    ...all.map(typeText),
    summaryChange(all),
    ...filters.map(filtersType),
    unionOfFilters('ExportFilters', 'Filters of exports; each resource has those of its list.', filterNames),
    unionOfFilters(
      'StreamFilters',
      'Filters of streams; each resource has those of its list, without times.',
      streamFilterNames,
    ),
    `ExportName: TypeAlias = ${literal(RESOURCES.map(pythonName))}\n"""The resources that have exports."""\n`,
    ...LISTS.map(resourceConstant),
    `BY_NAME: Mapping[str, Resource[Any, Any]] = {\n${LISTS.map((list) => `    "${pythonName(list)}": ${constantOf(list)},`).join('\n')}\n}\n"""All lists."""\n`,
    methods(reports),
  ]
  return `${parts.join('\n\n').trimEnd()}\n`
}

/** A type behind those of the objects in it that have no name: each is called as its property. */
function withInnerTypes({ name, meaning, type }: NamedType): NamedType[] {
  if (type.is !== 'object') return [{ name, meaning, type }]
  const inner: NamedType[] = []
  const properties = type.properties.map((property): Property => {
    if (property.type.is !== 'object') return property
    const innerName = capitalised(property.name)
    inner.push({ name: innerName, meaning: property.meaning, type: property.type })
    return { ...property, type: { is: 'named', name: innerName } }
  })
  return [...inner, { name, meaning, type: { is: 'object', properties } }]
}

const capitalised = (name: string) => `${name[0]!.toUpperCase()}${name.slice(1)}`

const literal = (texts: readonly string[]) => {
  const line = `Literal[${texts.map((text) => `"${text}"`).join(', ')}]`
  return line.length < WIDTH - 40 ? line : `Literal[\n${texts.map((text) => `    "${text}",`).join('\n')}\n]`
}

function textOf(type: ClientType): string {
  if (type.is === 'named') return type.name
  if (type.is === 'one of') return literal(type.texts)
  if (type.is === 'list') return `list[${textOf(type.of)}]`
  if (type.is === 'union') return type.of.map(textOf).join(' | ')
  if (type.is === 'filter') return FILTER_TYPES[type.type]
  if (type.is === 'time') return 'Time'
  if (type.is === 'object') throw new TypeError('an object within a list or a union must have a title')
  return PLAIN_TYPES[type.name]!
}

/** A text as lines of at most {@link WIDTH} characters, each indented. */
function wrapped(text: string, indent: string, first = ''): string {
  const lines: string[] = []
  let line = indent + first
  for (const word of text.split(/\s+/)) {
    if (line.length + word.length > WIDTH && line.trim() !== first.trim()) {
      lines.push(line.trimEnd())
      line = indent
    }
    line += `${word} `
  }
  return [...lines, line.trimEnd()].join('\n')
}

/** A docstring; one of several lines ends on a line of its own. */
function docstring(text: string, indent: string): string {
  const lines = wrapped(text, indent, '"""')
  const fits = !lines.includes('\n') && lines.length + 3 <= WIDTH
  return fits ? `${lines}"""\n` : `${lines}\n${indent}"""\n`
}

/** Python's words that no field of a class can have as its name. */
const KEYWORDS =
  /^(?:False|None|True|and|as|assert|async|await|break|class|continue|def|del|elif|else|except|finally|for|from|global|if|import|in|is|lambda|nonlocal|not|or|pass|raise|return|try|while|with|yield)$/

const isFieldName = (name: string) => /^[A-Za-z_]\w*$/.test(name) && !KEYWORDS.test(name)

function typeText({ name, meaning, type }: NamedType): string {
  if (type.is !== 'object')
    return `${name}: TypeAlias = ${textOf(type)}\n${meaning === null ? '' : docstring(meaning, '')}`
  const { properties } = type
  if (!properties.every((property) => isFieldName(property.name)))
    return functionalType(name, meaning, properties)
  const fields = properties.map((property) => {
    const text = textOf(property.type)
    const line = `    ${property.name}: ${property.isOptional ? `NotRequired[${text}]` : text}\n`
    const meant = meaningOf(property)
    return meant === null ? line : line + docstring(meant, '    ')
  })
  const head = `class ${name}(TypedDict):\n${meaning === null ? '' : `${docstring(meaning, '    ')}\n`}`
  return head + fields.join('')
}

/** A type with a property that cannot be a name in Python; meanings are comments. */
function functionalType(name: string, meaning: string | null, properties: readonly Property[]): string {
  const indent = ' '.repeat(8)
  const lines = properties.map((property) => {
    const meant = meaningOf(property)
    const comment = meant === null ? '' : `${wrapped(meant, `${indent}# `)}\n`
    const text = textOf(property.type).replaceAll('\n', `\n${indent}`)
    return `${comment}${indent}"${property.name}": ${property.isOptional ? `NotRequired[${text}]` : text},`
  })
  const text = `${name} = TypedDict(\n    "${name}",\n    {\n${lines.join('\n')}\n    },\n)\n`
  return meaning === null ? text : text + docstring(meaning, '')
}

function meaningOf({ meaning, form }: Property): string | null {
  const note = form === undefined ? undefined : NOTES[form]
  return note === undefined ? meaning : `${meaning} ${note}`
}

/** The type of what the stream of market summaries sends: a summary's parts, of which only the market is always there. */
function summaryChange(types: readonly NamedType[]): string {
  const summary = types.find(({ name }) => name === marketSummaries.nodeName)!.type
  if (summary.is !== 'object') throw new TypeError(`${marketSummaries.nodeName} is no object`)
  return typeText({
    name: 'MarketSummaryChange',
    meaning: "The parts of a market's summary that have changed; the whole at first.",
    type: {
      is: 'object',
      properties: summary.properties.map((one) => ({ ...one, isOptional: one.name !== 'marketId' })),
    },
  })
}

/** A filter of a type; None stands for one that is not given. */
const filterField = ({ name, type, isRequired }: ListFilter) =>
  `    ${argumentOf(name)}: ${isRequired ? `Required[${textOf(type)}]` : `${textOf(type)} | None`}\n`

const filtersTypeName = ({ nodeName }: Resource) => `${nodeName}Filters`

function filtersType(resource: Resource): string {
  const { required } = resource
  const needed = required.list ?? []
  const words = resource.kebabName.replaceAll('-', ' ')
  const oneOf = needed.length > 1 ? `; at least one of ${needed.map(argumentOf).join(' and ')}` : ''
  const head = `class ${filtersTypeName(resource)}(TypedDict, total=False):\n`
  const meaning = docstring(`Filters of a list of ${words}${oneOf}.`, '    ')
  return `${head}${meaning}\n${listFilters(resource)
    .map((filter) => filterField(filter) + docstring(filter.meaning, '    '))
    .join('')}`
}

/** All filters that some resource has. */
function unionOfFilters(
  name: string,
  meaning: string,
  namesOf: (resource: Resource) => readonly string[],
): string {
  const filters = new Map<string, ListFilter>()
  for (const resource of RESOURCES) {
    const names = namesOf(resource)
    for (const filter of listFilters(resource))
      if (names.includes(filter.name)) filters.set(filter.name, { ...filter, isRequired: false })
  }
  const fields = [...filters.values()].map(filterField)
  return `class ${name}(TypedDict, total=False):\n${docstring(meaning, '    ')}\n${fields.join('')}`
}

function resourceConstant(resource: Resource): string {
  const { name, path, nodeName } = resource
  const parameters = (names: readonly string[]) =>
    `{${names.map((one) => `"${argumentOf(one)}": "${parameterOf(one)}"`).join(', ')}}`
  const hasExport = RESOURCES.includes(resource)
  const lines = [
    `name="${pythonName(resource)}"`,
    `event="${name}"`,
    `path="${path}"`,
    `filters=${parameters(filterNames(resource))}`,
    `stream_path="${streamPath(resource)}"`,
    `stream_filters=${parameters(streamFilterNames(resource))}`,
    `export_path=${hasExport ? `"${exportPath(resource)}"` : 'None'}`,
  ]
  const type = `Resource[${nodeName}, ${changeOf(resource)}]`
  return `${constantOf(resource)}: ${type} = Resource(\n${lines.map((line) => `    ${brokenUp(line)},`).join('\n')}\n)\n`
}

/** A mapping on several lines if it is long. */
function brokenUp(line: string): string {
  if (line.length < WIDTH - 10) return line
  return line.replace('{', '{\n        ').replaceAll(', "', ',\n        "').replace('}', ',\n    }')
}

function methods(reports: readonly ClientReport[]): string {
  const parts = [
    `class ResourceMethods:
    """The methods of every list, page, report, stream and export of rows. See \`Client\`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
`,
    ...LISTS.flatMap((list) => [listMethod(list), pageMethod(list)]),
    ...reports.map(reportMethod),
    ...LISTS.map(followOverload),
    FOLLOW,
    ...RESOURCES.map(exportOverload),
    EXPORT_ROWS,
  ]
  return parts.join('\n')
}

/** The last argument of a method of a list, with a comma before it; empty if the list has no filters. */
function filtersArgument(resource: Resource): { declared: string; given: string } {
  if (filterNames(resource).length === 0) return { declared: '', given: '{}' }
  return { declared: `        **filters: Unpack[${filtersTypeName(resource)}],\n`, given: 'filters' }
}

function filtersText(resource: Resource): string {
  const names = listFilters(resource).map(
    ({ name, isRequired }) => `${argumentOf(name)}${isRequired ? ' (required)' : ''}`,
  )
  if (names.length === 0) return ''
  const needed = resource.required.list ?? []
  const oneOf = needed.length > 1 ? `; at least one of ${needed.map(argumentOf).join(' and ')}` : ''
  return `\n${wrapped(`Filters: ${names.join(', ')}${oneOf}.`, '        ')}\n        `
}

function methodDocstring(summary: string, rest: string): string {
  return rest === '' ? `        """${summary}"""\n` : `        """${summary}\n${rest}"""\n`
}

function listMethod(resource: Resource): string {
  const { declared, given } = filtersArgument(resource)
  return `    def ${pythonName(resource)}(
        self,
        *,
        page_size: int = PAGE_SIZE,
        newest_first: bool = True,
        after: str | None = None,
${declared}    ) -> Iterator[${resource.nodeName}]:
${methodDocstring(`${resource.summary}.`, filtersText(resource))}        return walk_pages(
            self._connection,
            ${constantOf(resource)},
            ${given},
            page_size=page_size,
            newest_first=newest_first,
            after=after,
        )
`
}

function pageMethod(resource: Resource): string {
  const { declared, given } = filtersArgument(resource)
  return `    def ${pythonName(resource)}_page(
        self,
        *,
        first: int | None = None,
        after: str | None = None,
        last: int | None = None,
        before: str | None = None,
        newest_first: bool = True,
${declared}    ) -> Page[${resource.nodeName}]:
        """One page of \`${pythonName(resource)}\`."""
        return read_page(
            self._connection,
            ${constantOf(resource)},
            ${given},
            first=first,
            after=after,
            last=last,
            before=before,
            newest_first=newest_first,
        )
`
}

function reportMethod(report: ClientReport): string {
  const { name, path, id, meaning, answer, isBody, options } = report
  const argument = id === null ? null : argumentOf(id)
  const declared = options.map(({ name, type, isRequired }) => {
    const text = textOf(type).replaceAll('\n', '\n        ')
    return `        ${argumentOf(name)}: ${isRequired ? text : `${text} | None = None`},\n`
  })
  const meanings = options.map(({ name, meaning }) => {
    const lines = wrapped(meaning, '            ', `${argumentOf(name)}: `)
    return lines.replace('            ', '        ')
  })
  const rest = options.length === 0 ? '' : `\n${meanings.join('\n')}\n        `
  const given = options.map(({ name, parameter }) => `                "${parameter}": ${argumentOf(name)},\n`)
  const target = argument === null ? `"${path}"` : `f"${path.replace(/:\w+/, `{path_part(${argument})}`)}"`
  const parameters = options.length === 0 ? '{}' : `{\n${given.join('')}            }`
  return `    def ${wordsOfName(name, '_')}(
        self,
${argument === null ? '' : `        ${argument}: str,\n`}${options.length === 0 ? '' : '        *,\n'}${declared.join('')}    ) -> ${textOf(answer)}:
${methodDocstring(meaning, rest)}        answer: ${textOf(answer)} = read_report(
            self._connection,
            ${target},
            ${parameters},
            is_body=${isBody ? 'True' : 'False'},
        )
        return answer
`
}

const overloadOf = (method: string, resource: Resource, args: readonly string[], result: string) =>
  `    @overload
    def ${method}(
        self,
        resource: Literal["${pythonName(resource)}"],
        *,
${args.map((line) => `        ${line},\n`).join('')}    ) -> ${result}: ...
`

const followOverload = (resource: Resource) =>
  overloadOf(
    'follow',
    resource,
    resource === marketSummaries
      ? ['on_complete: Callable[[], None] | None = None']
      : [
          'after: str | None = None',
          'after_block: int | str | None = None',
          ...(streamFilterNames(resource).length === 0 ? [] : ['**filters: Unpack[StreamFilters]']),
        ],
    `Stream[${changeOf(resource)}]`,
  )

const FOLLOW = `    def follow(
        self,
        resource: str,
        *,
        after: str | None = None,
        after_block: int | str | None = None,
        on_complete: Callable[[], None] | None = None,
        **filters: Any,
    ) -> Stream[Any]:
        """Each row of a resource as it arrives, and again whenever it changes; by default from now on.

        Of market summaries: first each market's whole summary, on each connection, then the parts that
        change. See \`Stream\`.

        after: The \`position\` of an earlier stream, or the cursor of a row of a page: rows after it follow.
        after_block: A block's height, such as a page's \`block_height\`: rows of later blocks follow.
        on_complete: Called once all summaries of markets have been given, on each connection.

        Filters are those of the list, without times; \`market_id\` is optional.
        """
        return follow_stream(
            self._connection,
            named(BY_NAME, resource),
            filters,
            after=after,
            after_block=after_block,
            on_complete=on_complete,
        )
`

const exportOverload = (resource: Resource) =>
  overloadOf(
    'export_rows',
    resource,
    [
      'after: str | None = None',
      'newest_first: bool = False',
      ...(filterNames(resource).length === 0 ? [] : ['**filters: Unpack[ExportFilters]']),
    ],
    `Iterator[PageRow[${resource.nodeName}]]`,
  )

const EXPORT_ROWS = `    def export_rows(
        self,
        resource: str,
        *,
        after: str | None = None,
        newest_first: bool = False,
        **filters: Any,
    ) -> Iterator[PageRow[Any]]:
        """All rows of a resource in one request, each with its cursor; without market_id of all markets.

        All are from one block. If the connection breaks, LyraConnectionError names the cursor to go on after.
        """
        return read_export(
            self._connection, named(BY_NAME, resource), filters, after=after, newest_first=newest_first
        )
`
