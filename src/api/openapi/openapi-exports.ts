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
    summary: `All ${wordsOf(resource)}${byMarket ? ' of all markets' : ''}, a row a line`,
    description: `All rows of one moment, ${byMarket ? 'by market id, then ' : ''}by key. Each line holds its cursor, which resumes after that row.`,
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
