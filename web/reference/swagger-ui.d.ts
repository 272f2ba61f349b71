/** What is used of Swagger UI, which comes without types. */
declare module 'swagger-ui-dist/swagger-ui-es-bundle.js' {
  /** An operation with the values that its parameters have been given, as an immutable map. */
  export type Parameters = {
    toJS(): { parameters?: { in: string; name: string; value?: unknown }[] }
  }

  /** What a component beneath an operation is given. */
  export type RequestProps = { path: string; method: string }

  /** What a plugin is given: the renderer's own React among it. */
  export type System = {
    React: {
      createElement(type: unknown, props: object | null, ...children: unknown[]): unknown
      Fragment: unknown
      useEffect(effect: () => unknown, inputs: readonly unknown[]): void
      useState<T>(first: T): [T, (next: T | ((known: T) => T)) => void]
    }
    specSelectors: { operationWithMeta(path: string, method: string): Parameters }
    getStore(): { subscribe(listener: () => void): () => void }
  }

  export default function SwaggerUI(options: Record<string, unknown>): void
}
