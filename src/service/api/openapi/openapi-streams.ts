import { type Resource, wordsOf } from '#core/resources/resource'
import { STREAM_TYPE } from '../streams/stream-route.ts'
import { streamParametersOf } from '../streams/stream-route-request.ts'
import { COMMON_HEADERS, errorAnswers, headersOf } from './openapi-answers.ts'
import { queryParameters } from './openapi-parameters.ts'
import { operation, operationIdOf } from './operation.ts'

const DESCRIPTION = `An endless stream of server-sent events, one event per row. The event's name is the resource; its data is the same node as in pages; its id is the position to resume after. To resume without losing or repeating rows, send the last id received in \`Last-Event-ID\` or \`after\`. Without a start, the stream begins with the next new row.

A client that reads too slowly gets a \`dropped\` event, with an error body as its data, and the stream ends. Comments are sent while there are no rows.`

const LAST_EVENT_ID = {
  name: 'Last-Event-ID',
  in: 'header',
  description: 'The last id received. Browsers send it automatically.',
  schema: { type: 'string' },
}

/** The operation that sends the rows of a resource as they come. */
export function streamOperation(resource: Resource): object {
  return operation(
    {
      operationId: operationIdOf('stream', resource),
      summary: `Stream new ${wordsOf(resource)}`,
      description: DESCRIPTION,
      tags: ['live updates'],
    },
    [...queryParameters(streamParametersOf(resource)), LAST_EVENT_ID],
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
