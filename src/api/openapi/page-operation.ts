import type { Resource } from '../../resources/resource.ts'
import { RESOURCES } from '../../resources/resources.ts'
import { JSON_TYPE } from '../http/exchange.ts'
import { FORMAT_PARAMETER } from '../questions/parameters.ts'
import { closedObject } from './node-schemas.ts'
import { COMMON_HEADERS, errorAnswers, headersOf } from './openapi-answers.ts'
import { EXPORT_CONTENT } from './openapi-exports.ts'
import { COMMON_PARAMETERS, describedParameter, parametersOfResource } from './openapi-parameters.ts'

/** The operation of a list. */
export function pageOperation(resource: Resource): object {
  const { name, nodeName, summary } = resource
  const isExported = RESOURCES.includes(resource)
  const headers = headersOf([...COMMON_HEADERS, 'ETag', 'Cache-Control'])
  return {
    operationId: `list${name[0]!.toUpperCase()}${name.slice(1)}`,
    summary,
    tags: ['market data'],
    parameters: [
      ...parametersOfResource(resource),
      ...(isExported ? [{ ...describedParameter(FORMAT_PARAMETER), in: 'query' }] : []),
      ...COMMON_PARAMETERS,
    ],
    responses: {
      200: {
        description: isExported ? 'A page; with a `format` all rows.' : 'A page.',
        headers,
        content: {
          [JSON_TYPE]: { schema: pageSchema(name, nodeName) },
          ...(isExported ? EXPORT_CONTENT : {}),
        },
      },
      304: { description: 'The client holds the body already.', headers },
      ...errorAnswers(resource),
    },
  }
}

function pageSchema(field: string, nodeSchema: string): object {
  return closedObject({
    [field]: closedObject({
      edges: {
        type: 'array',
        items: closedObject({
          node: { $ref: `#/components/schemas/${nodeSchema}` },
          cursor: { type: 'string', description: 'Opaque; for pagination.after and pagination.before.' },
        }),
      },
      pageInfo: { $ref: '#/components/schemas/PageInfo' },
    }),
  })
}
