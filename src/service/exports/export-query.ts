import { FILTERS } from '#core/model/filters'
import type { Resource } from '#core/model/resource'
import { decodeMarketCursor } from '#core/resources/market-cursor'
import { type ExportFormat, FORMATS_OF_TIMES } from '../formats/export-bytes.ts'
import type { ExportQuery, TimesForm } from '../formats/export-rows.ts'
import { invalidPagination, invalidParameter } from '../http/errors.ts'
import { cursorOf, invalidCursor, pageRequest, selectionOf } from '../questions/page-request.ts'
import { PARAMETER_TYPES } from '../questions/parameter-types.ts'
import {
  byName,
  EXPORT_TIMES_PARAMETER,
  FORMAT_PARAMETER,
  filterParametersOf,
  NUMBERS_PARAMETER,
  PATH_MARKET_ID,
  type Parameter,
  type ParameterValues,
  parametersOf,
} from '../questions/parameters.ts'

/** How values are written. */
const FORM_PARAMETERS = [EXPORT_TIMES_PARAMETER, NUMBERS_PARAMETER]

const PAGE_ONLY = ['pagination.first', 'pagination.last', 'pagination.before']

/** The parameters of a resource's operation, with the format. */
export function exportParametersOf(resource: Resource): readonly Parameter[] {
  return byName([...parametersOf(resource), FORMAT_PARAMETER, ...FORM_PARAMETERS])
}

/** The parameters of the export of all markets, with those of pages alone, which are refused. */
export function fullExportParametersOf(resource: Resource): readonly Parameter[] {
  const paging = parametersOf(resource).filter(
    ({ name }) => ![...resource.filters, ...resource.flags].some((other) => other.name === name),
  )
  const ofMarket = { ...PATH_MARKET_ID, description: FILTERS.marketId.meaning }
  return byName([
    ...paging.map((parameter) => ({ ...parameter, ...OTHERWISE[parameter.name] })),
    ...filterParametersOf(resource, 'export'),
    ...(resource.scope === null ? [] : [ofMarket]),
    { ...FORMAT_PARAMETER, description: 'Lines of JSON (default), CSV or Parquet.' },
    ...FORM_PARAMETERS,
  ])
}

/** Paging parameters with a different meaning in an export of all markets. */
const OTHERWISE: Record<string, Partial<Parameter>> = {
  'pagination.after': { description: "Cursor of an export's row: returns the rows after it." },
  'pagination.newestFirst': {
    description: 'Reverse the order.',
    type: { ...PARAMETER_TYPES.boolean, schema: { type: 'boolean', default: false } },
  },
}

/** Whether only pages have a parameter: an export refuses it. */
export const isOfPagesAlone = ({ name }: Pick<Parameter, 'name'>) => PAGE_ONLY.includes(name)

/**
 * Checks a request for an export.
 *
 * @throws {ApiError} 400, as for a page, and for parameters that only pages have.
 */
export function exportQuery(
  resource: Resource,
  pathMarketId: string | null,
  values: ParameterValues,
  kind: 'list' | 'export' = 'list',
): ExportQuery {
  const { selection, descending, cursor } = pageRequest(resource, pathMarketId, values, kind)
  refusePaging(values)
  return { resource, selection, descending, cursor, ...formOf(values) }
}

/**
 * Checks a request for an export over all markets: by market id, then by key, or reversed for `newestFirst`.
 *
 * @throws {ApiError} 400, as for a page, and for parameters that only pages have.
 */
export function fullExportQuery(resource: Resource, values: ParameterValues): ExportQuery {
  const selection = selectionOf(resource, 'export', null, values)
  refusePaging(values)
  const descending = values.get('pagination.newestFirst') === true
  const name = 'pagination.after'
  const after = values.get(name) as string | undefined
  const query = { resource, selection, descending, ...formOf(values) }
  if (resource.scope === null)
    return { ...query, cursor: after === undefined ? null : cursorOf(resource, selection, name, after) }
  if (after === undefined) return { ...query, cursor: null, list: { market: null } }
  const cursor = decodeMarketCursor(resource, after)
  if (typeof cursor === 'string') throw invalidCursor(name, cursor)
  const { marketId, key } = cursor
  if (selection.marketId !== undefined && selection.marketId !== marketId)
    throw invalidCursor(name, 'of another market')
  return { ...query, cursor: key, list: { market: marketId } }
}

/** What distinguishes the bytes of an export from those of every other one, however a request spells it. */
export function exportKey({ resource, ...query }: ExportQuery, format: ExportFormat): string {
  const asText = (_: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value)
  return JSON.stringify({ name: resource.name, format, ...query }, asText)
}

/**
 * The form of values.
 *
 * @throws {ApiError} 400 for a form that the format does not allow.
 */
function formOf(values: ParameterValues): Pick<ExportQuery, 'times' | 'numbers'> {
  const format = (values.get(FORMAT_PARAMETER.name) ?? 'ndjson') as ExportFormat
  const times = values.get(EXPORT_TIMES_PARAMETER.name) as TimesForm | undefined
  const numbers = values.get(NUMBERS_PARAMETER.name) as 'text' | undefined
  if (times !== undefined && !FORMATS_OF_TIMES[times].includes(format)) {
    throw otherFormat('times', times, FORMATS_OF_TIMES[times])
  }
  if (numbers !== undefined && format !== 'parquet') throw otherFormat('numbers', numbers, ['parquet'])
  return { times, numbers }
}

const otherFormat = (name: string, value: string, formats: readonly ExportFormat[]) =>
  invalidParameter(
    `parsing field "${name}": ${name} is "${value}", which only format=${formats.join(' and format=')} ${formats.length === 1 ? 'allows' : 'allow'}`,
  )

function refusePaging(values: ParameterValues): void {
  const pageOnly = PAGE_ONLY.find((name) => values.has(name))
  if (pageOnly === undefined) return
  throw invalidPagination(
    `${pageOnly} cannot be used with an export of all rows; only pagination.after and pagination.newestFirst are allowed`,
  )
}
