import { type Resource, wordsOf } from '#core/resources/resource'
import { EXPORT_TYPES } from '../../export/export-bytes.ts'
import { fullExportParametersOf, isOfPagesAlone } from '../streams/export-query.ts'
import { COMMON_HEADERS, errorAnswers, headersOf } from './openapi-answers.ts'
import { queryParameters } from './openapi-parameters.ts'
import { operation, operationIdOf } from './operation.ts'

const contentOf = (types: readonly string[]) =>
  Object.fromEntries(
    types.map((type) => {
      const isText = type !== EXPORT_TYPES.parquet
      return [type.split(';')[0], { schema: { type: 'string', ...(isText ? {} : { format: 'binary' }) } }]
    }),
  )

/** All rows in a format. */
export const EXPORT_CONTENT = contentOf(Object.values(EXPORT_TYPES))
export const CSV_CONTENT = contentOf([EXPORT_TYPES.csv])

/** The operation that gives all rows of all markets. */
export function exportOperation(resource: Resource): object {
  const { scope, filters } = resource
  const byMarket = scope !== null || filters.some(({ name }) => name === 'marketId')
  return operation(
    {
      operationId: operationIdOf('export', resource),
      summary: `Export all ${wordsOf(resource)}${byMarket ? ' of all markets' : ''}`,
      description: `Exports all rows of one snapshot, sorted ${byMarket ? 'by market id, then ' : ''}by key. Each line of JSON and CSV contains its cursor; to resume after a row, send its cursor.`,
      tags: ['exports'],
    },
    queryParameters(fullExportParametersOf(resource).filter((parameter) => !isOfPagesAlone(parameter))),
    {
      200: { description: 'All rows.', headers: headersOf(COMMON_HEADERS), content: EXPORT_CONTENT },
      ...errorAnswers(resource, 'export'),
    },
  )
}
