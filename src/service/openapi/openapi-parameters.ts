import type { Parameter } from '../questions/parameters.ts'

/** The parameters of every path, by name. */
export const SHARED_PARAMETERS = {
  Pretty: {
    name: 'pretty',
    in: 'query',
    description: 'Indents JSON bodies. Any value, or none, turns it on.',
    allowEmptyValue: true,
    schema: { type: 'string' },
  },
  RequestId: {
    name: 'X-Request-Id',
    in: 'header',
    description: 'An id for this request: 1 to 64 printable ASCII characters. Any other value is ignored.',
    schema: { type: 'string' },
  },
  IfNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    description: 'ETags of bodies that the client has cached. Returns 304 if one is current.',
    schema: { type: 'string' },
  },
}

/** References to the parameters of every path, as an operation lists them. */
export const COMMON_PARAMETERS = Object.keys(SHARED_PARAMETERS).map((key) => ({
  $ref: `#/components/parameters/${key}`,
}))

/** Query parameters, as an operation lists them. */
export function queryParameters(parameters: readonly Parameter[]): object[] {
  return parameters.map((parameter) => ({ ...describedParameter(parameter), in: 'query' }))
}

/** A parameter without its `in`. */
export function describedParameter({ name, description, type, isRequired }: Parameter): object {
  return { name, description, schema: type.schema, ...(isRequired === true ? { required: true } : {}) }
}
