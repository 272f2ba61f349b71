import { useState } from 'preact/hooks'
import { view } from '../location.ts'
import { CopyButton } from './copy-button.tsx'
import { saveBlob, saveText } from './csv/save-text.ts'

export type RequestProps = {
  url: string
  /** The address of the rows as CSV, or a function that creates the file. */
  csv?: string | (() => string) | undefined
  /** The market of all rows, if no column says it. */
  marketId?: string
}

/**
 * The rows of the shown data as a CSV file that people read and, behind "API", their request, to copy as an address or a command,
 * and the file as the API gives it.
 */
export function Request({ url, csv, marketId }: RequestProps) {
  return (
    <div class="request">
      {typeof csv === 'string' && <ReadableCsv url={csv} marketId={marketId ?? null} />}
      {typeof csv === 'function' && (
        <button
          type="button"
          class="copy csv"
          onClick={() => saveText(csv(), `${view.value}.csv`, 'text/csv')}
        >
          CSV
        </button>
      )}
      <details>
        <summary class="copy">
          API<span class="visually-hidden"> request of these data</span>
        </summary>
        <div class="request-line">
          <span class="request-method">GET</span>
          <code class="request-url">{url.replace(location.origin, '')}</code>
          <span class="request-actions">
            <CopyButton text={url} what="the request's URL" label="URL" />
            <CopyButton text={`curl '${url}'`} what="the request as a curl command" label="curl" />
            {typeof csv === 'string' && (
              <a
                class="copy"
                href={csv}
                download=""
                title="As the API gives it: smallest units, Unix nanoseconds, ids"
              >
                exact CSV
              </a>
            )}
          </span>
        </div>
      </details>
    </div>
  )
}

/** Saves the rows with names of markets, whole units and readable times. */
function ReadableCsv({ url, marketId }: { url: string; marketId: string | null }) {
  const [state, setState] = useState<'ready' | 'busy' | Error>('ready')
  const save = async () => {
    setState('busy')
    try {
      const { askReadable } = await import('./csv/readable-csv.ts')
      const { blob, name } = await askReadable(url, marketId)
      saveBlob(blob, name)
      setState('ready')
    } catch (error) {
      setState(error as Error)
    }
  }
  return (
    <>
      <button
        type="button"
        class="copy csv"
        disabled={state === 'busy'}
        title="With names of markets, whole units and times in UTC; exact values are behind API"
        onClick={() => void save()}
      >
        {state === 'busy' ? 'CSV …' : 'CSV'}
      </button>
      {state instanceof Error && (
        <span class="fault" role="alert">
          The file could not be loaded: {state.message}
        </span>
      )}
    </>
  )
}

/** Copies the address of the view as it is: opening it shows the same. */
export function CopyLink() {
  return <CopyButton text={() => location.href} what="a link to this view" label="Link" />
}
