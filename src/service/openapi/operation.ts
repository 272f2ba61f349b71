import type { Resource } from '#core/model/resource'
import { COMMON_PARAMETERS } from './openapi-parameters.ts'

/** An operation's id, summary, description and tags. */
type Described = { operationId: string; summary: string; description?: string; tags: string[] }

/** The operations of a path, which is GET alone, with its own parameters and those of every path. */
export function operation(described: Described, parameters: readonly object[], responses: object): object {
  return { get: { ...described, parameters: [...parameters, ...COMMON_PARAMETERS], responses } }
}

/** The id of an operation on a resource: `listCheckpoints`. */
export function operationIdOf(verb: string, { name }: Resource): string {
  return `${verb}${name[0]!.toUpperCase()}${name.slice(1)}`
}
