import { type Resource, wordsOf } from '#core/model/resource'
import { marketSummaries } from '#core/resources/market-summaries'
import type { Parameter } from '../questions/parameters.ts'
import { STREAM_TYPE } from '../streams/stream-route.ts'
import { streamParametersOf } from '../streams/stream-route-request.ts'
import { COMMON_HEADERS, errorAnswers, headersOf } from './openapi-answers.ts'
import { queryParameters } from './openapi-parameters.ts'
import { operation, operationIdOf } from './operation.ts'

const STREAM_DESCRIPTION = `An endless stream of server-sent events, one event per row. The event's name is the resource; its data is the same node as in pages; its id is the position to resume after. A stream begins with a row, or with an event \`position\` that has only an id; its data is \`[]\`. Such an event also follows after 4 seconds without a row. To resume without losing or repeating rows, send the last id received in the header \`Last-Event-ID\`, as browsers do by themselves, or in \`lastEventId\` or \`after\`; the header comes first. Without a start, the stream begins with the next new row.

A client that reads too slowly gets a \`dropped\` event, with an error body as its data, and the stream ends.`

const SUMMARIES_DESCRIPTION = `An endless stream of server-sent events with the state of all markets. First each market's summary is sent, whole, and an event \`complete\`, whose data is \`{}\`. Then, after a block and at most every 5 seconds, the top-level parts of each market that have changed are sent, with its id. A part that is null is sent as null. Not every state in between is sent. Events have no ids: a client that reconnects gets the state again. Slow readers are treated as in other streams; in silence a comment follows every 4 seconds.`

/** The operation that streams new rows of a resource. */
export function streamOperation(resource: Resource): object {
  return operationOf(
    resource,
    `Stream new ${wordsOf(resource)}`,
    STREAM_DESCRIPTION,
    streamParametersOf(resource),
  )
}

/** The operation that streams the state of markets. */
export function summaryStreamOperation(): object {
  const summary = 'Stream the state of markets'
  return operationOf(marketSummaries, summary, SUMMARIES_DESCRIPTION, [])
}

function operationOf(
  resource: Resource,
  summary: string,
  description: string,
  parameters: readonly Parameter[],
): object {
  return operation(
    { operationId: operationIdOf('stream', resource), summary, description, tags: ['live updates'] },
    // The header Last-Event-ID is described, not declared: generators give it the name of `lastEventId`.
    queryParameters(parameters),
    {
      200: {
        description: 'The stream.',
        headers: headersOf(COMMON_HEADERS),
        content: { [STREAM_TYPE]: { schema: { type: 'string' } } },
      },
      ...errorAnswers(resource, 'stream'),
    },
  )
}
