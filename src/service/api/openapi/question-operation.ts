import type { Resource } from '#core/resources/resource'
import { RESOURCES } from '#core/resources/resources'
import { JSON_TYPE } from '../http/exchange.ts'
import { restParametersOf } from '../questions/csv-file.ts'
import { pageSchema } from '../questions/node-schemas.ts'
import { FORMAT_PARAMETER, PATH_MARKET_ID, TIMES_PARAMETER } from '../questions/parameters.ts'
import type { Question, Report } from '../questions/question.ts'
import { COMMON_HEADERS, errorAnswers, headersOf, REPORT_REFUSALS } from './openapi-answers.ts'
import { CSV_CONTENT, EXPORT_CONTENT } from './openapi-exports.ts'
import { describedParameter, queryParameters } from './openapi-parameters.ts'
import { operation, operationIdOf } from './operation.ts'

/** The operation of a question. */
export function questionOperation(question: Question): object {
  const { path, description } = question
  const parameters = restParametersOf(question)
  const list = 'list' in description ? description.list : null
  const isExported = list !== null && RESOURCES.includes(list)
  const { operationId, summary, schema, refusals } =
    list === null ? reportOf(description as Report) : pageOf(list)
  const headers = headersOf([...COMMON_HEADERS, 'ETag', 'Cache-Control'])
  const content = isExported ? EXPORT_CONTENT : 'isFile' in description ? CSV_CONTENT : null
  const answer = list === null ? 'The answer' : 'A page'
  return operation(
    { operationId, summary, tags: ['market data'] },
    [
      ...(path.includes(':marketId')
        ? [{ ...describedParameter(PATH_MARKET_ID), in: 'path', required: true }]
        : []),
      ...queryParameters(isExported ? [...parameters, FORMAT_PARAMETER, TIMES_PARAMETER] : parameters),
    ],
    {
      200: {
        description: content === null ? `${answer}.` : `${answer}, or all rows if \`format\` is given.`,
        headers,
        content: { [JSON_TYPE]: { schema }, ...content },
      },
      304: { description: 'Not modified.', headers },
      ...refusals,
    },
  )
}

function pageOf(list: Resource) {
  const { name, nodeName, summary } = list
  const schema = pageSchema(name, { $ref: `#/components/schemas/${nodeName}` })
  return { operationId: operationIdOf('list', list), summary, schema, refusals: errorAnswers(list, 'list') }
}

function reportOf({ operationId, summary, body }: Report) {
  return { operationId, summary, schema: body, refusals: REPORT_REFUSALS }
}
