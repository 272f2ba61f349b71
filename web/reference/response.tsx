import { useState } from 'preact/hooks'
import { type Document, type Reference, type Response, resolve, type Schema } from './document.ts'
import { inline } from './words.tsx'

/** An answer of an operation by its status, collapsed at first. */
export function ResponseDetails({
  api,
  status,
  response,
}: {
  api: Document
  status: string
  response: Response
}) {
  const [isOpen, setOpen] = useState(false)
  return (
    <details
      class="response"
      data-code={status}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary>
        <strong>{status}</strong> {inline(response.description)}
      </summary>
      {isOpen && <Opened api={api} response={response} />}
    </details>
  )
}

function Opened({ api, response }: { api: Document; response: Response }) {
  const headers = Object.keys(response.headers ?? {})
  return (
    <div class="opened">
      {headers.length > 0 && (
        <p>
          <span class="quiet">Headers: </span>
          {headers.map((name, index) => (
            <span key={name}>
              {index > 0 && ', '}
              <code>{name}</code>
            </span>
          ))}
        </p>
      )}
      {Object.entries(response.content ?? {}).map(([type, { schema, examples }]) => (
        <div key={type}>
          <p>
            <code>{type}</code>
          </p>
          {examples === undefined ? (
            <SchemaFields api={api} schema={resolve(api, schema)} />
          ) : (
            <Examples examples={examples} />
          )}
        </div>
      ))}
    </div>
  )
}

function Examples({ examples }: { examples: Record<string, { value: unknown }> }) {
  const names = Object.keys(examples)
  const [chosen, setChosen] = useState(names[0]!)
  return (
    <>
      {names.length > 1 && (
        <label class="field inline">
          <span class="field-label">Example</span>
          <select value={chosen} onChange={({ currentTarget }) => setChosen(currentTarget.value)}>
            {names.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys. */}
      <pre class="answer" tabIndex={0}>
        <code>{JSON.stringify(examples[chosen]!.value, null, 2)}</code>
      </pre>
    </>
  )
}

/** The fields of an object with their descriptions, and nested fields below. */
function SchemaFields({ api, schema }: { api: Document; schema: Schema }) {
  const object = objectOf(api, schema)
  if (object === null) return <p class="quiet">{typeOf(api, schema)}</p>
  return (
    <ul class="fields">
      {Object.entries(object.properties ?? {}).map(([name, field]) => {
        const found = resolve(api, field)
        const isLeftOut = object.required !== undefined && !object.required.includes(name)
        return (
          <li key={name}>
            <code>{name}</code> <span class="quiet">{typeOf(api, found)}</span>
            {isLeftOut && <span class="quiet"> (optional)</span>}
            {found.description !== undefined && <> {inline(found.description)}</>}
            {objectOf(api, found) !== null && <SchemaFields api={api} schema={found} />}
          </li>
        )
      })}
    </ul>
  )
}

/** The object that a value is, or a list holds; null if it is none. */
function objectOf(api: Document, schema: Schema): Schema | null {
  if (schema.properties !== undefined) return schema
  const within: Reference<Schema>[] = [...(schema.oneOf ?? []), ...(schema.items ? [schema.items] : [])]
  for (const inner of within) {
    const found = objectOf(api, resolve(api, inner))
    if (found !== null) return found
  }
  return null
}

function typeOf(api: Document, schema: Schema): string {
  if (schema.oneOf !== undefined)
    return schema.oneOf.map((inner) => typeOf(api, resolve(api, inner))).join(' or ')
  if (schema.items !== undefined) return `list of ${typeOf(api, resolve(api, schema.items))}`
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum !== undefined) return schema.enum.join(' | ')
  return schema.type ?? 'any'
}
