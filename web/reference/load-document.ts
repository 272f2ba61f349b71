/** What is read, or changed, of an OpenAPI document. */
type Document = {
  paths: Record<string, Record<string, { parameters?: Parameter[] }>>
}

type Parameter = { description?: string; schema?: { default?: unknown } }

/**
 * The OpenAPI document of the service, with the defaults of parameters told in their descriptions: the renderer
 * would send each default, and `pagination.first` with its default would have `pagination.before` passed over.
 */
export async function loadDocument(url: string): Promise<object> {
  const response = await fetch(url)
  if (!response.ok) throw new Error(`${url}: ${response.status}`)
  const document = (await response.json()) as Document
  for (const operations of Object.values(document.paths)) {
    for (const { parameters = [] } of Object.values(operations)) parameters.forEach(tellDefault)
  }
  return document
}

function tellDefault(parameter: Parameter): void {
  const { schema, description = '' } = parameter
  if (schema?.default === undefined) return
  parameter.description = `${description} Default: \`${schema.default}\`.`.trim()
  delete schema.default
}
