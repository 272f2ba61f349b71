/** The parts of the service's OpenAPI document that are used. */
export type Document = {
  info: { title: string; version: string; description: string }
  tags: { name: string }[]
  paths: Record<string, { get: Operation }>
}

export type Operation = {
  operationId: string
  summary: string
  description?: string
  tags: string[]
  parameters?: Reference<Parameter>[]
  responses: Record<string, Response>
}

export type Parameter = {
  name: string
  in: 'path' | 'query' | 'header'
  description?: string
  required?: boolean
  schema: Schema
}

export type Schema = {
  type?: string
  enum?: string[]
  const?: unknown
  default?: unknown
  description?: string
  properties?: Record<string, Reference<Schema>>
  required?: string[]
  items?: Reference<Schema>
  oneOf?: Reference<Schema>[]
}

export type Response = {
  description: string
  headers?: Record<string, unknown>
  content?: Record<string, { schema: Reference<Schema>; examples?: Record<string, { value: unknown }> }>
}

/** Something, or where in the document it stands. */
export type Reference<T> = T | { $ref: string }

/** Resolves a reference; returns anything else unchanged. */
export function resolve<T extends object>(document: Document, value: Reference<T>): T {
  if (!('$ref' in value)) return value
  let found: unknown = document
  for (const part of value.$ref.slice(2).split('/')) found = (found as Record<string, unknown>)[part]
  return found as T
}

/** The document of the service. */
export async function loadDocument(url: string): Promise<Document> {
  const response = await fetch(url)
  if (!response.ok) throw new Error(`${url}: ${response.status}`)
  return (await response.json()) as Document
}
