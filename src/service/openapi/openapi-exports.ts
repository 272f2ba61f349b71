import { type Resource, wordsOf } from '#core/model/resource'
import { fullExportParametersOf, isOfPagesAlone } from '../exports/export-query.ts'
import { EXPORT_FORMATS, EXPORT_TYPES } from '../formats/export-bytes.ts'
import { COMMON_HEADERS, errorAnswers, headersOf } from './openapi-answers.ts'
import { queryParameters } from './openapi-parameters.ts'
import { operation, operationIdOf } from './operation.ts'

/**
 * The content of a file. Most generators use the first type for all formats, so the first is binary, which is right for every
 * format. Texts are declared as such for generators that read every `text/` type as text.
 */
const FILE_CONTENT = Object.fromEntries(
  (['parquet', 'csv', 'ndjson'] as const).map((format) => [
    EXPORT_TYPES[format].split(';')[0],
    { schema: { type: 'string', ...(format === 'parquet' ? { format: 'binary' } : {}) } },
  ]),
)

/** Headers with which a client requests a part of a file. */
const FILE_PARAMETERS = [
  {
    name: 'Range',
    in: 'header',
    description: 'A range of bytes: `bytes=0-1023`. Returns 206 with these bytes.',
    schema: { type: 'string' },
  },
  {
    name: 'If-Range',
    in: 'header',
    description: 'The ETag that an earlier part had. Returns the whole file if it has changed since.',
    schema: { type: 'string' },
  },
  {
    name: 'If-Match',
    in: 'header',
    description: 'The ETag that an earlier part had. Returns 412 if the file has changed since.',
    schema: { type: 'string' },
  },
]

const endings = EXPORT_FORMATS.map((format) => `\`.${format}\``).join(', ')

const FILE_DESCRIPTION = `An export of up to 64 MiB is a file with a length, an ETag and ranges of bytes; larger ones, and compressed ones, are sent as they are read, without these. The address may end in the format (${endings}) instead of \`format\`.`

/** The operation that exports all rows of all markets. */
export function exportOperation(resource: Resource): object {
  const { scope, filters } = resource
  const byMarket = scope !== null || filters.some(({ name }) => name === 'marketId')
  const headers = headersOf([
    ...COMMON_HEADERS,
    ...(['ETag', 'Cache-Control', 'Accept-Ranges', 'Content-Disposition'] as const),
  ])
  return operation(
    {
      operationId: operationIdOf('export', resource),
      summary: `Export all ${wordsOf(resource)}${byMarket ? ' of all markets' : ''}`,
      description: `Exports all rows of one snapshot, sorted ${byMarket ? 'by market id, then ' : ''}by key. Each line of JSON and CSV contains its cursor; to resume after a row, send its cursor.\n\n${FILE_DESCRIPTION}`,
      tags: ['exports'],
    },
    [
      ...queryParameters(fullExportParametersOf(resource).filter((parameter) => !isOfPagesAlone(parameter))),
      ...FILE_PARAMETERS,
    ],
    {
      200: { description: 'All rows.', headers, content: FILE_CONTENT },
      206: {
        description: 'The requested range of bytes of the file.',
        headers: { ...headers, ...headersOf(['Content-Range']) },
        content: FILE_CONTENT,
      },
      304: { description: 'Not modified.', headers },
      ...errorAnswers(resource, 'export'),
    },
  )
}
