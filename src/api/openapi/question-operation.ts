import type { Resource } from '../../resources/resource.ts'
import { RESOURCES } from '../../resources/resources.ts'
import { JSON_TYPE } from '../http/exchange.ts'
import { FORMAT_PARAMETER, PATH_MARKET_ID, TIMES_PARAMETER } from '../questions/parameters.ts'
import type { JsonSchema, Question, Report } from '../questions/question.ts'
import { closedObject } from './node-schemas.ts'
import { COMMON_HEADERS, errorAnswers, headersOf, refusedAnswer } from './openapi-answers.ts'
import { EXPORT_CONTENT } from './openapi-exports.ts'
import { COMMON_PARAMETERS, describedParameter, queryParameters } from './openapi-parameters.ts'

/** The operation of a question. */
export function questionOperation({ path, parameters, description }: Question): object {
  const isOfMarket = path.includes(':marketId')
  const { isExported, operationId, summary, answer, schema, refusals } =
    'list' in description ? pageOf(description.list) : reportOf(description)
  const headers = headersOf([...COMMON_HEADERS, 'ETag', 'Cache-Control'])
  return {
    operationId,
    summary,
    tags: ['market data'],
    parameters: [
      ...(isOfMarket ? [{ ...describedParameter(PATH_MARKET_ID), in: 'path', required: true }] : []),
      ...queryParameters(isExported ? [...parameters, FORMAT_PARAMETER, TIMES_PARAMETER] : parameters),
      ...COMMON_PARAMETERS,
    ],
    responses: {
      200: {
        description: answer,
        headers,
        content: { [JSON_TYPE]: { schema }, ...(isExported ? EXPORT_CONTENT : {}) },
      },
      304: { description: 'Not modified.', headers },
      ...refusals,
    },
  }
}

function pageOf(list: Resource) {
  const isExported = RESOURCES.includes(list)
  return {
    isExported,
    operationId: `list${list.name[0]!.toUpperCase()}${list.name.slice(1)}`,
    summary: list.summary,
    answer: isExported ? 'A page, or all rows if `format` is given.' : 'A page.',
    schema: pageSchema(list),
    refusals: errorAnswers(list),
  }
}

function reportOf({ operationId, summary, body }: Report) {
  return { operationId, summary, isExported: false, answer: 'The answer.', schema: body, refusals: REFUSALS }
}

const REFUSALS = {
  '4XX': refusedAnswer('Invalid request or parameter, method not allowed, or rate limit exceeded.'),
  '5XX': refusedAnswer('The store is empty or temporarily unavailable, or an internal error.'),
}

function pageSchema({ name, nodeName }: Resource): JsonSchema {
  return closedObject({
    [name]: closedObject({
      edges: {
        type: 'array',
        items: closedObject({
          node: { $ref: `#/components/schemas/${nodeName}` },
          cursor: {
            type: 'string',
            description: 'Opaque. Pass it as pagination.after or pagination.before.',
          },
        }),
      },
      pageInfo: { $ref: '#/components/schemas/PageInfo' },
    }),
  })
}
