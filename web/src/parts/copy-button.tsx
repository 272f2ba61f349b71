import { useEffect, useState } from 'preact/hooks'

const SHOWN_MS = 1_500

/** Outlines: two sheets, and a tick. */
const SHEETS = 'M6 5h7v9H6z M10 5V2H3v9h3'
const DONE = 'M3 8.5l3.5 3.5L13 5'

export type CopyButtonProps = {
  /** The text, or what gives it when it is copied. */
  text: string | (() => string)
  what: string
  label?: string
}

/** Copies a text, and says that it has. */
export function CopyButton({ text, what, label }: CopyButtonProps) {
  const [copied, setCopied] = useState<'no' | 'yes' | 'failed'>('no')
  useEffect(() => {
    if (copied === 'no') return
    const timer = setTimeout(() => setCopied('no'), SHOWN_MS)
    return () => clearTimeout(timer)
  }, [copied])
  const said = { no: label ?? 'Copy', yes: 'Copied', failed: 'Failed' }[copied]
  return (
    <button
      type="button"
      class={`copy ${copied}`}
      aria-label={copied === 'no' && label === undefined ? `Copy ${what}` : `${said}: copy ${what}`}
      onClick={async () =>
        setCopied((await copy(typeof text === 'string' ? text : text())) ? 'yes' : 'failed')
      }
    >
      <svg viewBox="0 0 16 16" width="14" height="14" class="copy-icon" aria-hidden="true">
        <path d={copied === 'yes' ? DONE : SHEETS} />
      </svg>
      {label !== undefined && <span class="copy-label">{said}</span>}
      <span class="visually-hidden" aria-live="polite">
        {copied === 'no' ? '' : said}
      </span>
    </button>
  )
}

/** Browsers give the clipboard to pages of HTTPS and of this machine only; elsewhere a selection will do. */
async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    const area = document.createElement('textarea')
    area.value = text
    area.className = 'visually-hidden'
    document.body.append(area)
    area.select()
    const done = document.execCommand('copy')
    area.remove()
    return done
  }
}
