import type { Filter, RequestKind, Resource } from '#core/model/resource'
import { type ApiError, invalidParameter, quoted } from '../http/errors.ts'
import type { QueryPairs } from '../http/query-string.ts'
import {
  DEFAULT_PAGE_SIZE,
  type ParameterType,
  type ParameterValue,
  PARAMETER_TYPES as TYPES,
} from './parameter-types.ts'

/** A query parameter, by its name in camel case. */
export type Parameter = { name: string; type: ParameterType; description: string; isRequired?: boolean }

/** The paging parameters, which every resource takes. */
export const PAGINATION_PARAMETERS: readonly Parameter[] = [
  {
    name: 'pagination.first',
    type: TYPES.pageSize,
    description: `Maximum number of rows to return, starting after \`pagination.after\` or at the beginning. Default: ${DEFAULT_PAGE_SIZE}.`,
  },
  {
    name: 'pagination.after',
    type: TYPES.cursor,
    description:
      'Page forward: the cursor of the last row of the previous page. Cannot be combined with `pagination.before`.',
  },
  {
    name: 'pagination.last',
    type: TYPES.pageSize,
    description: `Maximum number of rows to return, ending before \`pagination.before\` or at the end. Default: ${DEFAULT_PAGE_SIZE}. Ignored if \`pagination.first\` is given.`,
  },
  {
    name: 'pagination.before',
    type: TYPES.cursor,
    description:
      'Page backward: the cursor of the first row of the following page. Ignored if `pagination.first` is given.',
  },
  {
    name: 'pagination.newestFirst',
    type: TYPES.boolean,
    description: 'Sort the newest rows first. `1`, `t`, `0`, `f` and similar are also accepted.',
  },
]

export const DATE_RANGE_PARAMETERS: readonly Parameter[] = [
  {
    name: 'dateRange.startTimestamp',
    type: TYPES.timestamp,
    description: 'Rows at or after this time, Unix nanoseconds.',
  },
  {
    name: 'dateRange.endTimestamp',
    type: TYPES.timestamp,
    description: 'Rows before this time, Unix nanoseconds.',
  },
]

/** The same with meanings of their own. */
export function dateRangeParameters(start: string, end: string): readonly Parameter[] {
  const [first, last] = DATE_RANGE_PARAMETERS as [Parameter, Parameter]
  return [
    { ...first, description: start },
    { ...last, description: end },
  ]
}

/** A range of times that rows overlap. */
const OVERLAP_RANGE_PARAMETERS = dateRangeParameters(
  'Rows that end after this time, or have no end yet, Unix nanoseconds.',
  'Rows that begin before this time, Unix nanoseconds.',
)

/** The range of times that a request names; null for an end that it leaves open. */
export function dateRangeOf(values: ParameterValues): { start: bigint | null; end: bigint | null } {
  const timeOf = (name: string) => (values.get(`dateRange.${name}`) as bigint | undefined) ?? null
  return { start: timeOf('startTimestamp'), end: timeOf('endTimestamp') }
}

/** The query parameter of a filter. */
export const filterParameter = ({ name, type, meaning }: Filter): Parameter => ({
  name,
  type: TYPES[type],
  description: meaning,
})

/** The parameters of a resource's filters, as a kind of request takes them. */
export function filterParametersOf({ filters, required }: Resource, kind: RequestKind): Parameter[] {
  const needed = required[kind] ?? []
  const oneOf = ` At least one of ${needed.map((name) => `\`${name}\``).join(' and ')} must be given.`
  return filters.map((filter) => {
    const parameter = filterParameter(filter)
    if (!needed.includes(filter.name)) return parameter
    if (needed.length === 1) return { ...parameter, isRequired: true }
    return { ...parameter, description: parameter.description + oneOf }
  })
}

/** The parameters of a resource's flags. */
function flagParametersOf({ flags }: Resource): Parameter[] {
  return flags.map(({ name, meaning }) => ({ name, type: TYPES.flag, description: meaning }))
}

/** The market id of a resource that needs one, in the path. */
export const PATH_MARKET_ID: Parameter = {
  name: 'marketId',
  type: TYPES.marketId,
  description: 'The market id: 64 hex digits, in either case.',
}

/** The party id of a question that needs one, in the path. */
const PATH_PARTY_ID: Parameter = {
  name: 'partyId',
  type: TYPES.partyId,
  description: 'The party id: 64 hex digits, in either case, or `network`.',
}

/** The parameter that is a part of a path; null if all of it is fixed. */
export function pathParameterOf(path: string): Parameter | null {
  return [PATH_MARKET_ID, PATH_PARTY_ID].find(({ name }) => path.split('/').includes(`:${name}`)) ?? null
}

/** Asks for all rows in a format instead of a page. */
export const FORMAT_PARAMETER: Parameter = {
  name: 'format',
  type: TYPES.exportFormat,
  description:
    'Return all matching rows, or those after `pagination.after`, as lines of JSON, CSV or Parquet instead of a page. The only other paging parameter allowed with it is `pagination.newestFirst`.',
}

/** Says how an answer, or its file, has times. */
export const TIMES_PARAMETER: Parameter = {
  name: 'times',
  type: TYPES.fileTimes,
  description: 'Times as RFC 3339 in UTC, to the nanosecond, instead of Unix nanoseconds.',
}

/** Says how an export has times. */
export const EXPORT_TIMES_PARAMETER: Parameter = {
  name: 'times',
  type: TYPES.exportTimes,
  description:
    'Lines of JSON and CSV: `iso`, RFC 3339 in UTC to the nanosecond instead of Unix nanoseconds. Parquet: `micros`, UTC in microseconds, which Spark reads, or `local`, nanoseconds without a zone, instead of UTC in nanoseconds.',
}

/** Says how Parquet has decimal numbers. */
export const NUMBERS_PARAMETER: Parameter = {
  name: 'numbers',
  type: TYPES.exportNumbers,
  description:
    'Parquet: decimal numbers as texts, as the core sent them. Decimals hold at most 38 digits, and refuse a larger number.',
}

/** Parameters by name: the order in which faults are reported. */
export function byName(parameters: readonly Parameter[]): readonly Parameter[] {
  return parameters.toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

/** The query parameters of a resource, by name. */
export function parametersOf(resource: Resource): readonly Parameter[] {
  return byName([
    ...PAGINATION_PARAMETERS,
    ...(resource.dateRange ? DATE_RANGE_PARAMETERS : []),
    ...(resource.overlapRange === undefined ? [] : OVERLAP_RANGE_PARAMETERS),
    ...filterParametersOf(resource, 'list'),
    ...flagParametersOf(resource),
  ])
}

/** Every request may ask for indented JSON. */
const PRETTY = 'pretty'

/** The values of a request's parameters, by name; those not given are not there. */
export type ParameterValues = Map<string, ParameterValue>

/** Reads the parameters of one resource. */
export type ParameterReader = (pairs: QueryPairs) => ParameterValues

/**
 * Creates the reader of a list of parameters, which takes each part of a name in camel or snake case.
 *
 * The reader throws an {@link ApiError} 400 for an unknown name, unless these are ignored; for a value that does not
 * parse and a parameter that comes twice: the first such parameter by name.
 *
 * @param unknownNames ignored on requests that the reference has, too, as it does; otherwise refused
 */
export function parameterReader(
  parameters: readonly Parameter[],
  unknownNames: 'ignored' | 'refused',
): ParameterReader {
  const inOrder = byName(parameters)
  const bySpelling = new Map(
    parameters.flatMap((parameter) => spellings(parameter.name).map((name) => [name, parameter] as const)),
  )
  return (pairs) => {
    const given = new Map<Parameter, string[]>()
    for (const [name, value] of pairs) {
      const parameter = bySpelling.get(name)
      if (parameter === undefined) {
        if (unknownNames === 'ignored' || name === PRETTY) continue
        throw unknownParameter(name, inOrder)
      }
      const values = given.get(parameter)
      if (values === undefined) given.set(parameter, [value])
      else values.push(value)
    }
    const result: ParameterValues = new Map()
    for (const parameter of inOrder) {
      const values = given.get(parameter)
      if (values !== undefined) result.set(parameter.name, parseValue(parameter, values))
    }
    return result
  }
}

function unknownParameter(name: string, known: readonly Parameter[]): ApiError {
  const names = known.map((parameter) => parameter.name).join(', ')
  return invalidParameter(
    `unknown parameter ${quoted(name)}; ${names === '' ? 'allowed: none' : `allowed: ${names}`}`,
  )
}

function parseValue({ name, type }: Parameter, values: string[]): ParameterValue {
  const [text] = values
  if (type.isList) return values
  if (values.length > 1) {
    const shown = values.slice(0, 4).map(quoted).join(', ')
    throw invalidParameter(
      `too many values for field "${fieldOf(name)}": ${name} is given ${values.length} times (${shown}); give it once`,
    )
  }
  const value = type.parse(text!)
  if (value === undefined) {
    const meant = type.meant?.(text!) ?? null
    const hint = meant === null ? '' : `; ${quoted(text!)} is ${meant}`
    throw invalidParameter(
      `parsing field "${fieldOf(name)}": ${name} must be ${type.allowed}, not ${quoted(text!)}${hint}`,
    )
  }
  return value
}

/** What errors call a parameter: the last part of its name, in snake case. */
function fieldOf(name: string): string {
  return snakeCase(name.slice(name.lastIndexOf('.') + 1))
}

/** Every mix of camel and snake case of the parts of a name. */
function spellings(name: string): string[] {
  return name
    .split('.')
    .reduce<string[]>(
      (heads, part) =>
        [...new Set([part, snakeCase(part)])].flatMap((spelling) =>
          heads.length === 0 ? [spelling] : heads.map((head) => `${head}.${spelling}`),
        ),
      [],
    )
}

function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
