import { wordsOf } from '#core/model/resource'
import { marketSummaries } from '#core/resources/market-summaries'
import { RESOURCES } from '#core/resources/resources'
import { exportPath, streamPath } from '../http/paths.ts'
import { NODE_SCHEMAS, objectOf } from '../questions/node-schemas.ts'
import { QUESTIONS } from '../questions/questions.ts'
import { withComponents } from './components.ts'
import { ANSWER_HEADERS, ERROR_NAME, ERROR_SCHEMA } from './openapi-answers.ts'
import { exportOperation } from './openapi-exports.ts'
import { SHARED_PARAMETERS } from './openapi-parameters.ts'
import { MARKET_METRICS_OPERATION, SERVICE_OPERATIONS } from './openapi-service.ts'
import { streamOperation, summaryStreamOperation } from './openapi-streams.ts'
import { questionOperation } from './question-operation.ts'

const DESCRIPTION = `Funding, liquidity and checkpoint data of a Vega network: ${RESOURCES.map(wordsOf).join(', ')}.

Parameter names may be in camel case or snake case (\`pagination.newest_first\`). An unknown parameter is an error, but for the lists that Vega data nodes have, which ignore it; a known one may be given only once. 64-bit integers are strings. HEAD returns the headers of GET without the body; OPTIONS lists the methods.`

/**
 * The OpenAPI 3.1 document of the service, generated from the descriptions with which requests are checked.
 *
 * @param options.hasMarketMetrics whether the service has the metrics of markets
 */
export function openApiDocument(version: string, { hasMarketMetrics = false } = {}): object {
  return withComponents({
    openapi: '3.1.0',
    info: {
      title: 'Lyra',
      version,
      description: DESCRIPTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    // No authentication.
    security: [],
    tags: [
      { name: 'market data', description: 'Paged lists, and reports about one market or all markets.' },
      { name: 'live updates', description: 'Streams of new rows, and of the state of markets.' },
      { name: 'exports', description: 'All rows of all markets.' },
      { name: 'service', description: 'Health and metrics of the service, and this document.' },
    ],
    paths: {
      ...Object.fromEntries(
        QUESTIONS.map((question) => [question.path.replace(/:(\w+)/, '{$1}'), questionOperation(question)]),
      ),
      ...Object.fromEntries(RESOURCES.map((list) => [streamPath(list), streamOperation(list)])),
      [streamPath(marketSummaries)]: summaryStreamOperation(),
      ...Object.fromEntries(RESOURCES.map((list) => [exportPath(list), exportOperation(list)])),
      ...SERVICE_OPERATIONS,
      ...(hasMarketMetrics ? MARKET_METRICS_OPERATION : {}),
    },
    components: {
      parameters: SHARED_PARAMETERS,
      schemas: { ...NODE_SCHEMAS, PageInfo: PAGE_INFO, [ERROR_NAME]: ERROR_SCHEMA },
      headers: ANSWER_HEADERS,
    },
  })
}

export const PAGE_INFO = objectOf({
  hasNextPage: { type: 'boolean' },
  hasPreviousPage: { type: 'boolean' },
  startCursor: { type: 'string', description: 'Cursor of the first edge; empty on an empty page.' },
  endCursor: { type: 'string', description: 'Cursor of the last edge; empty on an empty page.' },
})
