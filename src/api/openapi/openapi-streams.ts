import { type Resource, wordsOf } from '../../resources/resource.ts'
import { RESOURCES } from '../../resources/resources.ts'
import { streamPath } from '../paths.ts'
import { STREAM_TYPE } from '../streams/stream-route.ts'
import { streamParametersOf } from '../streams/stream-route-request.ts'
import { COMMON_HEADERS, errorAnswers, headersOf } from './openapi-answers.ts'
import { COMMON_PARAMETERS, describedParameter } from './openapi-parameters.ts'

const DESCRIPTION = `A stream of server-sent events without end. Each row is an event: its name is the resource, its data the row's node as pages give it, its id the place to resume after. \`Last-Event-ID\`, or \`after\`, with the last id received resumes after it: nothing is lost, and nothing comes twice. Without a start only rows that come from now on are sent.

An event \`dropped\`, with the body of an error as its data, reports to a client that it reads too slowly; the stream ends with it. Comments come while nothing else does.`

const LAST_EVENT_ID = {
  name: 'Last-Event-ID',
  in: 'header',
  description: 'The last id that the client has had; browsers send it by themselves.',
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
    summary: `Follow ${wordsOf(resource)} as they come`,
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
