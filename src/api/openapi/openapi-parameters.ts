import type { Parameter } from '../questions/parameters.ts'

/** What every path takes, by name. */
export const PARAMETERS = {
  Pretty: {
    name: 'pretty',
    in: 'query',
    description: 'Indents a body of JSON, whatever its value.',
    allowEmptyValue: true,
    schema: { type: 'string' },
  },
  RequestId: {
    name: 'X-Request-Id',
    in: 'header',
    description: 'An id for this request, of 1 to 64 printable ASCII characters; another one is passed over.',
    schema: { type: 'string' },
  },
  IfNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    description: 'Tags of bodies that the client holds: 304 if it holds the one that would be sent.',
    schema: { type: 'string' },
  },
}

/** References to what every path takes, as an operation lists them. */
export const COMMON_PARAMETERS = Object.keys(PARAMETERS).map((key) => ({
  $ref: `#/components/parameters/${key}`,
}))

/** Query parameters, as an operation lists them. */
export function queryParameters(parameters: readonly Parameter[]): object[] {
  return parameters.map((parameter) => ({ ...describedParameter(parameter), in: 'query' }))
}

/** A parameter, but for where it stands. */
export function describedParameter({ name, description, type }: Parameter): object {
  return { name, description, schema: type.schema }
}
