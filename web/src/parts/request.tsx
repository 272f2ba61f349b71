import { CopyButton } from './copy-button.tsx'

/** The request that what is shown comes from, to copy as an address or as a command. */
export function Request({ url }: { url: string }) {
  return (
    <div class="request">
      <span class="request-method">GET</span>
      <code class="request-url">{url.replace(location.origin, '')}</code>
      <span class="request-actions">
        <CopyButton text={url} what="the request's URL" label="URL" />
        <CopyButton text={`curl '${url}'`} what="the request as a curl command" label="curl" />
      </span>
    </div>
  )
}
