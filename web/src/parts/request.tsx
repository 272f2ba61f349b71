import { view } from '../location.ts'
import { CopyButton } from './copy-button.tsx'
import { saveText } from './save-text.ts'

export type RequestProps = {
  url: string
  /** The address of the rows as CSV, or a function that creates the file. */
  csv?: string | (() => string) | undefined
}

/** The rows of the shown data as a CSV file and, behind "API", their request, to copy as an address or a command. */
export function Request({ url, csv }: RequestProps) {
  return (
    <div class="request">
      {typeof csv === 'string' && (
        <a class="copy csv" href={csv} download="">
          CSV
        </a>
      )}
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
          </span>
        </div>
      </details>
    </div>
  )
}

/** Copies the address of the view as it is: opening it shows the same. */
export function CopyLink() {
  return <CopyButton text={() => location.href} what="a link to this view" label="Link" />
}
