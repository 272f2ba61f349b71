import { LyraApiError } from 'lyra-client'
import type { ComponentChildren } from 'preact'
import { formatSecond } from '../../figures/format-time.ts'
import { reasonOf } from '../../service/connection.ts'
import type { Query, QueryState } from '../../service/use-query.ts'

/** Grey lines where figures will be once they are there: as much room as they will need. */
export function Skeleton({
  what,
  lines = 6,
  tall = false,
}: {
  what: string
  lines?: number
  tall?: boolean
}) {
  return (
    <div class={`skeleton ${tall ? 'tall' : ''}`} role="status">
      <span class="visually-hidden">Loading {what} …</span>
      {Array.from({ length: lines }, (_, line) => (
        <span key={line} class="skeleton-line" aria-hidden="true" />
      ))}
    </div>
  )
}

/** Says why there is nothing to see. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="state empty">
      <strong>{title}</strong>
      {children !== undefined && <div class="state-more">{children}</div>}
    </div>
  )
}

/** Says what went wrong, with a way to try again. */
export function Failure({ error, onRetry }: { error: Error; onRetry: () => void }) {
  const reason = reasonOf(error)
  return (
    <div class="state failure" role="alert">
      <strong>{reason === null ? 'The service does not respond' : 'The service returned an error'}</strong>
      {reason !== null && <div class="state-more">{reason}</div>}
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

export type AnsweredProps = {
  query: QueryState
  class?: string
  children: ComponentChildren
}

/**
 * Figures of a request. While they are those of another market, party, range or page, they are dimmed, and busy for
 * screen readers. If the same request has failed since, they are grey, with the time at which they arrived.
 */
export function Answered({ query, class: name = '', children }: AnsweredProps) {
  const { isOther, staleSince, error, reload } = query
  const reason = error === null ? null : reasonOf(error)
  const look = isOther ? 'other' : staleSince === null ? '' : 'stale'
  const classes = ['answer', look, name].filter((one) => one !== '')
  return (
    <div class={classes.join(' ')} aria-busy={isOther}>
      {staleSince !== null && (
        <p class="stale-since" role="status">
          As of {formatSecond(BigInt(staleSince) * 1_000_000n)} UTC; newer figures could not be loaded
          {reason === null ? '' : `: ${reason}`}{' '}
          <button type="button" class="copy" onClick={reload}>
            Try again
          </button>
        </p>
      )}
      {children}
    </div>
  )
}

export type AnswerProps<T> = {
  query: Query<T>
  what: string
  tall?: boolean
  children: (data: T) => ComponentChildren
}

/** A request's figures; before there are any, that they are loading, or why they cannot be loaded. */
export function Answer<T>({ query, what, tall = false, children }: AnswerProps<T>) {
  const { data, error, reload } = query
  if (data !== null) return <Answered query={query}>{children(data)}</Answered>
  return error === null ? <Skeleton what={what} tall={tall} /> : <Failure error={error} onRetry={reload} />
}
