import { type Resource, wordsOf } from '../../resources/resource.ts'
import { LISTS, RESOURCES } from '../../resources/resources.ts'
import { JSON_TYPE } from '../http/send-json.ts'
import { FORMAT_PARAMETER } from '../pages/parameters.ts'
import { AUCTIONS_PATH, COVERAGE_PATH, FUNDING_ESTIMATE_PATH, SERIES_PATH } from '../paths.ts'
import { closedObject, NODE_SCHEMAS } from './node-schemas.ts'
import { COMMON_HEADERS, ERROR_SCHEMA, errorAnswers, HEADERS, headersOf } from './openapi-answers.ts'
import { auctionsOperation } from './openapi-auctions.ts'
import { coverageOperation } from './openapi-coverage.ts'
import { fundingEstimateOperation } from './openapi-estimates.ts'
import { EXPORT_CONTENT, exportOperations } from './openapi-exports.ts'
import {
  COMMON_PARAMETERS,
  describedParameter,
  PARAMETERS,
  parametersOfResource,
} from './openapi-parameters.ts'
import { seriesOperation } from './openapi-series.ts'
import { SERVICE_OPERATIONS } from './openapi-service.ts'
import { streamOperations } from './openapi-streams.ts'

const DESCRIPTION = `Market data of a Vega network: ${RESOURCES.map(wordsOf).join(', ')}.

Names of parameters may be in camel case or snake case (\`pagination.newest_first\`); unknown ones are ignored; a known one may stand once. 64-bit integers are strings. HEAD answers as GET does, without the body; OPTIONS names the methods.`

/** The OpenAPI 3.1 document of the service, made from what requests are checked with. */
export function openApiDocument(version: string): object {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Lyra',
      version,
      description: DESCRIPTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    // Everyone who reaches the service may read all of it.
    security: [],
    tags: [
      { name: 'market data', description: 'Lists in pages, and what is said of a market or of all.' },
      { name: 'live updates', description: 'Streams of rows as they come.' },
      { name: 'exports', description: 'All rows of all markets at once.' },
      { name: 'service', description: 'How the service stands, and this document.' },
    ],
    paths: {
      ...Object.fromEntries(
        LISTS.map((resource) => [
          resource.path.replace(':marketId', '{marketId}'),
          { get: operation(resource) },
        ]),
      ),
      ...streamOperations(),
      ...exportOperations(),
      [COVERAGE_PATH]: { get: coverageOperation() },
      [FUNDING_ESTIMATE_PATH.replace(':marketId', '{marketId}')]: { get: fundingEstimateOperation() },
      [SERIES_PATH.replace(':marketId', '{marketId}')]: { get: seriesOperation() },
      [AUCTIONS_PATH.replace(':marketId', '{marketId}')]: { get: auctionsOperation() },
      ...SERVICE_OPERATIONS,
    },
    components: {
      parameters: PARAMETERS,
      schemas: { ...NODE_SCHEMAS, PageInfo: PAGE_INFO, Error: ERROR_SCHEMA },
      headers: HEADERS,
    },
  }
}

const PAGE_INFO = closedObject({
  hasNextPage: { type: 'boolean' },
  hasPreviousPage: { type: 'boolean' },
  startCursor: { type: 'string', description: 'Cursor of the first edge; empty on an empty page.' },
  endCursor: { type: 'string', description: 'Cursor of the last edge; empty on an empty page.' },
})

function operation(resource: Resource): object {
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
