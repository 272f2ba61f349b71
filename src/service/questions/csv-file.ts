import type { Missing } from '#core/domain/missing'
import type { StoreVersion } from '#core/store/changes'
import type { StoreHead } from '#core/store/pages/page'
import type { CellValue, ExportColumn } from '../formats/columns.ts'
import { EXPORT_TYPES } from '../formats/export-bytes.ts'
import { csvWriter } from '../formats/text-formats.ts'
import { invalidPagination } from '../http/errors.ts'
import { missingHeaders } from './missing-rows.ts'
import { PARAMETER_TYPES } from './parameter-types.ts'
import { byName, type Parameter, type ParameterValues, TIMES_PARAMETER } from './parameters.ts'
import { type Question, type RenderedBody, renderedBody } from './question.ts'

/** Rows of a file, at most: it is made in memory. A request for more is refused. */
export const MAX_FILE_ROWS = 100_000

/** Asks for a report as a file. */
const FILE_FORMAT_PARAMETER: Parameter = {
  name: 'format',
  type: PARAMETER_TYPES.fileFormat,
  description:
    '`csv`: return all rows as CSV instead of JSON; too many rows are refused. Cannot be combined with paging parameters.',
}

/** The parameters of a question over REST. */
export function restParametersOf({ parameters, description }: Question): readonly Parameter[] {
  if ('isFile' in description) return byName([...parameters, FILE_FORMAT_PARAMETER, TIMES_PARAMETER])
  return 'list' in description ? byName([...parameters, TIMES_PARAMETER]) : parameters
}

/** A column of a file. */
export type FileColumn = Pick<ExportColumn, 'name' | 'kind'>

/** How a file is to be written. */
export type FileOptions = { times?: 'iso' }

/**
 * How a request wants a report as a file; null if it does not.
 *
 * @throws {ApiError} 400 for parameters that only pages have
 */
export function fileOptionsOf(values: ParameterValues, paging: readonly Parameter[]): FileOptions | null {
  if (values.get('format') !== 'csv') return null
  const paged = paging.find(({ name }) => values.has(name))
  if (paged !== undefined)
    throw invalidPagination(`${paged.name} cannot be used with format=csv, which returns all rows`)
  const times = values.get('times') as FileOptions['times']
  return times === undefined ? {} : { times }
}

/** An answer as a CSV file, or its refusal if there are more rows than it may have. */
export function fileAnswer(
  { name, times }: FileOptions & { name: string },
  columns: readonly FileColumn[],
  { rows, more }: { rows: readonly (readonly CellValue[])[]; more: boolean },
  answer: { storeHead: StoreHead; version: StoreVersion | null } & Partial<Missing>,
): RenderedBody {
  const { storeHead, version, missing, since } = answer
  if (more) {
    const refusal =
      'the answer has more rows than a CSV file may have: select a market or a shorter range, or page through the JSON'
    return { ...renderedBody({}, storeHead, null), refusal }
  }
  const headers = missing === undefined ? {} : missingHeaders({ missing, since: since ?? null })
  const { head, line } = csvWriter(columns, times)
  const text = [head, ...rows.map(line)].map((one) => `${one}\r\n`).join('')
  return {
    ...renderedBody(Buffer.from(text), storeHead, version),
    file: { type: EXPORT_TYPES.csv, name: `${name}.csv`, headers },
  }
}
