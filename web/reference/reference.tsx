import { useEffect, useState } from 'preact/hooks'
import type { Document } from './document.ts'
import { OperationDetails } from './operation.tsx'
import type { StoredMarkets } from './stored-markets.ts'
import { Words } from './words.tsx'

/** Every operation of the service, by tag; the one that the address names is open. */
export function Reference({ api, storedMarket }: { api: Document; storedMarket: StoredMarkets }) {
  const [named, setNamed] = useState(() => location.hash.slice(1))
  useEffect(() => {
    const onChange = () => setNamed(location.hash.slice(1))
    addEventListener('hashchange', onChange)
    return () => removeEventListener('hashchange', onChange)
  }, [])
  const operations = Object.entries(api.paths).map(([path, { get }]) => ({ path, operation: get }))
  return (
    <main>
      <div>
        <h1>
          {api.info.title} <span class="quiet">{api.info.version}</span>
        </h1>
        <Words text={api.info.description} />
      </div>
      {api.tags.map(({ name }) => (
        <section key={name} class="tag" aria-labelledby={`tag-${name.replaceAll(' ', '-')}`}>
          <h2 id={`tag-${name.replaceAll(' ', '-')}`}>{name}</h2>
          {operations
            .filter(({ operation }) => operation.tags.includes(name))
            .map(({ path, operation }) => (
              <OperationDetails
                key={path}
                api={api}
                path={path}
                operation={operation}
                storedMarket={storedMarket(path)}
                isNamed={named === operation.operationId}
              />
            ))}
        </section>
      ))}
    </main>
  )
}
