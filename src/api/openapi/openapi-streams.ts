import { type Resource, wordsOf } from '../../resources/resource.ts'
import { RESOURCES } from '../../resources/resources.ts'
import { streamPath } from '../paths.ts'
import { STREAM_TYPE } from '../streams/stream-route.ts'
import { streamParametersOf } from '../streams/stream-route-request.ts'
import { COMMON_HEADERS, errorAnswers, headersOf } from './openapi-answers.ts'
import { COMMON_PARAMETERS, describedParameter } from './openapi-parameters.ts'

const DESCRIPTION = `An endless stream of server-sent events, one event per row. The event's name is the resource; its data is the same node as in pages; its id is the position to resume after. To resume without losing or repeating rows, send the last id received in \`Last-Event-ID\` or \`after\`. Without a start, the stream begins with the next new row.

A client that reads too slowly gets a \`dropped\` event, with an error body as its data, and the stream ends. Comments are sent while there are no rows.`

const LAST_EVENT_ID = {
  name: 'Last-Event-ID',
  in: 'header',
  description: 'The last id received. Browsers send it automatically.',
  schema: { type: 'string' },
}

/** The operations that send rows as they come, by path. */
export function streamOperations(): Record<string, object> {
  return Object.fromEntries(RESOURCES.map((resource) => [streamPath(resource), { get: operation(resource) }]))
}

function operation(resource: Resource): object {
  const { name, scope } = resource
  return {
    operationId: `stream${name[0]!.toUpperCase()}${name.slice(1)}`,
    summary: `Stream new ${wordsOf(resource)}`,
    description: DESCRIPTION,
    tags: ['live updates'],
    parameters: [
      ...streamParametersOf(resource).map((parameter) => ({
        ...describedParameter(parameter),
        in: 'query',
        ...(parameter.name === scope ? { required: true } : {}),
      })),
      LAST_EVENT_ID,
      ...COMMON_PARAMETERS,
    ],
    responses: {
      200: {
        description: 'The stream.',
        headers: headersOf(COMMON_HEADERS),
        content: { [STREAM_TYPE]: { schema: { type: 'string' } } },
      },
      ...errorAnswers(resource),
    },
  }
}
