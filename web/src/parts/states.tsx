import { LyraApiError, LyraConnectionError } from 'lyra-client'
import type { ComponentChildren } from 'preact'
import { formatSecond } from '../figures/format-time.ts'
import { coverageError, latestCoverage, readiness } from '../service/coverage.ts'
import { freshness } from '../service/freshness.ts'
import { areInstrumentsAsked } from '../service/instruments.ts'
import type { Query, QueryState } from '../service/use-query.ts'
import { CopyButton } from './copy-button.tsx'

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
  return (
    <div class="state failure" role="alert">
      <strong>
        {error instanceof LyraApiError ? 'The service returned an error' : 'The service does not respond'}
      </strong>
      {!(error instanceof LyraConnectionError) && <div class="state-more">{error.message}</div>}
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
  const look = isOther ? 'other' : staleSince === null ? '' : 'stale'
  const classes = ['answer', look, name].filter((one) => one !== '')
  return (
    <div class={classes.join(' ')} aria-busy={isOther}>
      {staleSince !== null && (
        <p class="stale-since" role="status">
          As of {formatSecond(BigInt(staleSince) * 1_000_000n)} UTC; newer figures could not be loaded
          {error === null || error instanceof LyraConnectionError ? '' : `: ${error.message}`}{' '}
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

/**
 * Shown before the service has reported its coverage and instruments; null afterwards.
 *
 * @param bar content above the view, in its place from the beginning
 */
export function beforeCoverage(what: string, bar?: ComponentChildren): preact.JSX.Element | null {
  if (latestCoverage() !== null && areInstrumentsAsked.value) return null
  if (freshness.value.state === 'empty') return <Greeting />
  const error = coverageError.value
  return error === null ? (
    <>
      {bar}
      <section class="panel">
        <Skeleton what={what} tall />
      </section>
    </>
  ) : (
    <Failure error={error} onRetry={() => location.reload()} />
  )
}

/** The commands that fill a store. */
function commandsFor(store: string) {
  const word = /^[\w.:/-]+$/.test(store) ? store : `'${store.replaceAll("'", `'\\''`)}'`
  return [
    ['Ingest event files of a network', `lyra ingest --store ${word} events.evts.gz`],
    ["Import a data node's history", `lyra import --store ${word} segments/`],
    ['Follow a core, which connects to --listen', `lyra serve --store ${word} --listen 127.0.0.1:3005`],
  ] as const
}

/** The empty store of a service that waits for a core. */
function Waiting({ isConnected, store }: { isConnected: boolean; store: string }) {
  return (
    <section class="panel greeting" aria-labelledby="greeting-title">
      <h2 id="greeting-title">
        {isConnected ? 'Waiting for the first block' : 'Waiting for a core to connect'}
      </h2>
      <p>
        The service listens for a core, and its store <code>{store}</code> has no blocks yet.{' '}
        {isConnected
          ? 'A core is connected. Its first whole block will appear here.'
          : "Set the service's address as the event receiver in the core's configuration, and start the core."}
      </p>
    </section>
  )
}

/** An empty store is where everyone begins: says how it is filled. */
function Greeting() {
  const ready = readiness.value
  const store = (ready?.status === 'not ready' ? ready.store : undefined) ?? 'STORE'
  if (ready?.live !== undefined) return <Waiting isConnected={ready.live.coreConnected} store={store} />
  return (
    <section class="panel greeting" aria-labelledby="greeting-title">
      <h2 id="greeting-title">This store is empty</h2>
      <p>
        The service is running, but its store <code>{store}</code> has no blocks yet. Fill it in one of three
        ways, in the folder of the service:
      </p>
      <dl>
        {commandsFor(store).map(([what, command]) => (
          <div key={what}>
            <dt>{what}</dt>
            <dd class="command">
              <code>{command}</code>
              <CopyButton text={command} what={`the command: ${what}`} label="Copy" />
            </dd>
          </div>
        ))}
      </dl>
      <p class="quiet">
        To follow a core, also set the service's address as the event receiver in the core's configuration.
      </p>
    </section>
  )
}
