import { LyraApiError } from 'lyra-client'
import type { ComponentChildren } from 'preact'

/** Stands where figures will be once they are there. */
export function Loading({ what }: { what: string }) {
  return (
    <div class="state loading" role="status">
      <span class="spinner" aria-hidden="true" />
      Loading {what} …
    </div>
  )
}

/** Says why there is nothing to see. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="state empty">
      <strong>{title}</strong>
      {children !== undefined && <p>{children}</p>}
    </div>
  )
}

/** Says what went wrong, with a way to try again. */
export function Failure({ error, onRetry }: { error: Error; onRetry: () => void }) {
  return (
    <div class="state failure" role="alert">
      <strong>
        {error instanceof LyraApiError ? 'The service refused the request' : 'The service does not answer'}
      </strong>
      <p>{error.message}</p>
      {error instanceof LyraApiError && error.requestId !== null && (
        <p class="quiet">
          Request id <code>{error.requestId}</code>
        </p>
      )}
      <button type="button" class="button" onClick={onRetry}>
        Try again
      </button>
    </div>
  )
}
