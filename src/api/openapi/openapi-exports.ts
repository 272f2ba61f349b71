import { TEXT_FORMATS } from '../../export/text-formats.ts'
import { type Resource, wordsOf } from '../../resources/resource.ts'
import { RESOURCES } from '../../resources/resources.ts'
import { exportPath } from '../paths.ts'
import { fullExportParametersOf, isOfPagesAlone } from '../streams/export-query.ts'
import { COMMON_HEADERS, errorAnswers, headersOf } from './openapi-answers.ts'
import { COMMON_PARAMETERS, queryParameters } from './openapi-parameters.ts'

/** All rows in a format, a row a line. */
export const EXPORT_CONTENT = Object.fromEntries(
  Object.values(TEXT_FORMATS).map(({ contentType }) => [
    contentType.split(';')[0],
    { schema: { type: 'string' } },
  ]),
)

/** The operations that give all rows of all markets, by path. */
export function exportOperations(): Record<string, object> {
  return Object.fromEntries(RESOURCES.map((resource) => [exportPath(resource), { get: operation(resource) }]))
}

function operation(resource: Resource): object {
  const { name, scope, filters } = resource
  const byMarket = scope !== null || filters.includes('marketId')
  return {
    operationId: `export${name[0]!.toUpperCase()}${name.slice(1)}`,
    summary: `Export all ${wordsOf(resource)}${byMarket ? ' of all markets' : ''}, one row per line`,
    description: `Exports all rows of one snapshot, sorted ${byMarket ? 'by market id, then ' : ''}by key. Each line contains its cursor; to resume after a row, send its cursor.`,
    tags: ['exports'],
    parameters: [
      ...queryParameters(fullExportParametersOf(resource).filter((parameter) => !isOfPagesAlone(parameter))),
      ...COMMON_PARAMETERS,
    ],
    responses: {
      200: { description: 'All rows.', headers: headersOf(COMMON_HEADERS), content: EXPORT_CONTENT },
      ...errorAnswers(resource),
    },
  }
}
