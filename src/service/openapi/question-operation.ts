import { type Resource, wordsOf } from '#core/model/resource'
import { RESOURCES } from '#core/resources/resources'
import { JSON_TYPE } from '../http/exchange.ts'
import { named, pageSchema, reference, typeNameOf } from '../questions/node-schemas.ts'
import { byName, PATH_MARKET_ID } from '../questions/parameters.ts'
import type { JsonSchema, Question, Report } from '../questions/question.ts'
import { COMMON_HEADERS, errorAnswers, headersOf, REPORT_REFUSALS } from './openapi-answers.ts'
import { describedParameter, queryParameters } from './openapi-parameters.ts'
import { operation, operationIdOf } from './operation.ts'

/** The operation of a question. Its answer is declared as JSON: users of `format` need no generated client. */
export function questionOperation({ path, parameters, description }: Question): object {
  const { operationId, name, summary, body, refusals } =
    'list' in description ? pageOf(description.list) : reportOf(description)
  const headers = headersOf([...COMMON_HEADERS, 'ETag', 'Cache-Control'])
  const asFile = fileDescriptionOf(description)
  return operation(
    {
      operationId,
      summary,
      ...(asFile === null ? {} : { description: asFile }),
      tags: ['market data'],
    },
    [
      ...(path.includes(':marketId')
        ? [{ ...describedParameter(PATH_MARKET_ID), in: 'path', required: true }]
        : []),
      ...queryParameters(byName(parameters)),
    ],
    {
      200: {
        description: 'list' in description ? 'A page.' : 'The answer.',
        headers,
        content: { [JSON_TYPE]: { schema: namedBody(body, name) } },
      },
      304: { description: 'Not modified.', headers },
      ...refusals,
    },
  )
}

/** Describes how to get the answer as a file; null if that is not possible. */
function fileDescriptionOf(description: Question['description']): string | null {
  if ('list' in description && RESOURCES.includes(description.list)) {
    return `\`format=csv\`, \`ndjson\` or \`parquet\` returns all matching rows as a file instead, as \`${operationIdOf('export', description.list)}\` does for all ${wordsOf(description.list)}; of the paging parameters it allows only \`pagination.after\` and \`pagination.newestFirst\`.`
  }
  return 'isFile' in description
    ? '`format=csv` returns all rows as a CSV file instead, with `times=iso` with times as RFC 3339; it allows no paging parameters, and refuses too many rows.'
    : null
}

/** A body, with names for its own type and for that of its one field, by default after the field. */
function namedBody(body: JsonSchema, answerName?: string): JsonSchema {
  const [[name, schema], ...others] = Object.entries(body.properties ?? {}) as [[string, JsonSchema]]
  if (others.length > 0) throw new TypeError('the body of an answer has one field')
  const typeName = typeNameOf(answerName ?? name)
  const properties =
    schema.type === 'object' ? { [name]: { title: typeName, ...schema } } : { [name]: schema }
  return named(`${typeName}Answer`, { ...body, properties })
}

function pageOf(list: Resource) {
  const { bodyKey, nodeName, summary } = list
  const body = pageSchema(bodyKey, nodeName, reference(nodeName))
  const operationId = operationIdOf('list', list)
  return { operationId, name: bodyKey, summary, body, refusals: errorAnswers(list, 'list') }
}

function reportOf(report: Report) {
  return { name: undefined, ...report, refusals: REPORT_REFUSALS }
}
