import { TEXT_FORMATS } from '../export/text-formats.ts'
import type { Resource, ResourceName } from '../resources/resource.ts'
import { RESOURCES } from '../resources/resources.ts'
import { closedObject, NODE_SCHEMAS } from './node-schemas.ts'
import { COMMON_HEADERS, ERROR_SCHEMA, errorAnswers, HEADERS, headersOf } from './openapi-answers.ts'
import { coverageOperation } from './openapi-coverage.ts'
import {
  COMMON_PARAMETERS,
  describedParameter,
  PARAMETERS,
  parametersOfResource,
} from './openapi-parameters.ts'
import { SERVICE_OPERATIONS } from './openapi-service.ts'
import { streamOperations } from './openapi-streams.ts'
import { FORMAT_PARAMETER } from './parameters.ts'
import { COVERAGE_PATH } from './paths.ts'
import { JSON_TYPE } from './send-json.ts'

const DESCRIPTION = `Market data of a Vega network: checkpoints, funding period data points, liquidity providers.

Names of parameters are taken in camel case or snake case (\`pagination.newest_first\`); unknown ones are passed over; a known one may stand once. 64-bit integers are strings. HEAD answers as GET does, without the body; OPTIONS names the methods.`

const RESOURCE_TEXTS: Record<ResourceName, { summary: string; schema: keyof typeof NODE_SCHEMAS }> = {
  checkpoints: { summary: 'List the checkpoints of the network', schema: 'Checkpoint' },
  fundingPeriodDataPoints: {
    summary: "List the data points of a perpetual market's funding periods",
    schema: 'FundingPeriodDataPoint',
  },
  liquidityProviders: {
    summary: 'List the liquidity providers of a market or a party',
    schema: 'LiquidityProvider',
  },
}

/** All rows in a format, a row a line. */
const EXPORT_CONTENT = Object.fromEntries(
  Object.values(TEXT_FORMATS).map(({ contentType }) => [
    contentType.split(';')[0],
    { schema: { type: 'string' } },
  ]),
)

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
    tags: [{ name: 'market data' }, { name: 'live updates' }, { name: 'service' }],
    paths: {
      ...Object.fromEntries(
        Object.values(RESOURCES).map((resource) => [
          resource.path.replace(':marketId', '{marketId}'),
          { get: operation(resource) },
        ]),
      ),
      ...streamOperations(),
      [COVERAGE_PATH]: { get: coverageOperation() },
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
  const { name, bodyField } = resource
  const { summary, schema } = RESOURCE_TEXTS[name]
  const headers = headersOf([...COMMON_HEADERS, 'ETag', 'Cache-Control'])
  return {
    operationId: `list${name[0]!.toUpperCase()}${name.slice(1)}`,
    summary,
    tags: ['market data'],
    parameters: [
      ...parametersOfResource(resource),
      { ...describedParameter(FORMAT_PARAMETER), in: 'query' },
      ...COMMON_PARAMETERS,
    ],
    responses: {
      200: {
        description: 'A page; with a `format` all rows.',
        headers,
        content: { [JSON_TYPE]: { schema: pageSchema(bodyField, schema) }, ...EXPORT_CONTENT },
      },
      304: { description: 'The client holds the body already.', headers },
      ...errorAnswers(name),
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
