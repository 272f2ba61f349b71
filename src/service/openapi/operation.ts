import type { Resource } from '#core/model/resource'
import { COMMON_PARAMETERS } from './openapi-parameters.ts'

/** What an operation is described by, before its parameters: its id, its summary and its tags. */
type Described = { operationId: string; summary: string; description?: string; tags: string[] }

/** An operation of a path: GET, with its own parameters and those that every path takes. */
export function operation(described: Described, parameters: readonly object[], responses: object): object {
  return { get: { ...described, parameters: [...parameters, ...COMMON_PARAMETERS], responses } }
}

/** The id of what an operation does with a resource: `listCheckpoints`. */
export function operationIdOf(verb: string, { name }: Resource): string {
  return `${verb}${name[0]!.toUpperCase()}${name.slice(1)}`
}
