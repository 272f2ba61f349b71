import { type Resource, wordsOf } from '#core/resources/resource'
import { TEXT_FORMATS, type TextFormat } from '../../export/text-formats.ts'
import { fullExportParametersOf, isOfPagesAlone } from '../streams/export-query.ts'
import { COMMON_HEADERS, errorAnswers, headersOf } from './openapi-answers.ts'
import { queryParameters } from './openapi-parameters.ts'
import { operation, operationIdOf } from './operation.ts'

const contentOf = (formats: readonly TextFormat[]) =>
  Object.fromEntries(
    formats.map(({ contentType }) => [contentType.split(';')[0], { schema: { type: 'string' } }]),
  )

/** All rows in a format, a row a line. */
export const EXPORT_CONTENT = contentOf(Object.values(TEXT_FORMATS))
export const CSV_CONTENT = contentOf([TEXT_FORMATS.csv])

/** The operation that gives all rows of all markets. */
export function exportOperation(resource: Resource): object {
  const { scope, filters } = resource
  const byMarket = scope !== null || filters.some(({ name }) => name === 'marketId')
  return operation(
    {
      operationId: operationIdOf('export', resource),
      summary: `Export all ${wordsOf(resource)}${byMarket ? ' of all markets' : ''}, one row per line`,
      description: `Exports all rows of one snapshot, sorted ${byMarket ? 'by market id, then ' : ''}by key. Each line contains its cursor; to resume after a row, send its cursor.`,
      tags: ['exports'],
    },
    queryParameters(fullExportParametersOf(resource).filter((parameter) => !isOfPagesAlone(parameter))),
    {
      200: { description: 'All rows.', headers: headersOf(COMMON_HEADERS), content: EXPORT_CONTENT },
      ...errorAnswers(resource, 'export'),
    },
  )
}
