import { type Resource, wordsOf } from '#core/model/resource'
import { RESOURCES } from '#core/resources/resources'
import { JSON_TYPE } from '../http/exchange.ts'
import { named, pageSchema, reference, typeNameOf } from '../questions/node-schemas.ts'
import { byName, pathParameterOf } from '../questions/parameters.ts'
import type { JsonSchema, Question, Report } from '../questions/question.ts'
import {
  COMMON_HEADERS,
  errorAnswers,
  headersOf,
  REPORT_REFUSALS,
  refusalsOfFilters,
} from './openapi-answers.ts'
import { describedParameter, queryParameters } from './openapi-parameters.ts'
import { operation, operationIdOf } from './operation.ts'

/** The operation of a question. Its answer is declared as JSON: users of `format` need no generated client. */
export function questionOperation({ path, parameters, description }: Question): object {
  const { operationId, name, summary, body, refusals } =
    'list' in description ? pageOf(description.list) : reportOf(description)
  const headers = headersOf([...COMMON_HEADERS, 'ETag', 'Cache-Control'])
  const asFile = fileDescriptionOf(description)
  const ofPath = pathParameterOf(path)
  return operation(
    {
      operationId,
      summary,
      ...(asFile === null ? {} : { description: asFile }),
      tags: ['market data'],
    },
    [
      ...(ofPath === null ? [] : [{ ...describedParameter(ofPath), in: 'path', required: true }]),
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

/** A body, with names for its own type and for that of its first field, by default after this field. */
function namedBody(body: JsonSchema, answerName?: string): JsonSchema {
  const [[name, schema]] = Object.entries(body.properties ?? {}) as [[string, JsonSchema]]
  const typeName = typeNameOf(answerName ?? name)
  const first = schema.type === 'object' ? { title: typeName, ...schema } : schema
  return named(`${typeName}Answer`, { ...body, properties: { ...body.properties, [name]: first } })
}

function pageOf(list: Resource) {
  const { bodyKey, nodeName, summary } = list
  const body = pageSchema(bodyKey, nodeName, reference(nodeName))
  const operationId = operationIdOf('list', list)
  return { operationId, name: bodyKey, summary, body, refusals: errorAnswers(list, 'list') }
}

function reportOf(report: Report) {
  const { filtersOf } = report
  return {
    name: undefined,
    ...report,
    refusals: filtersOf === undefined ? REPORT_REFUSALS : refusalsOfFilters(filtersOf),
  }
}
