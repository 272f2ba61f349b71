import { useEffect, useState } from 'preact/hooks'
import { type Asked, curlSample, pythonSample, typescriptSample } from './samples.ts'

const LANGUAGES = [
  ['curl', curlSample],
  ['TypeScript', typescriptSample],
  ['Python', pythonSample],
] as const

const COPIED_MS = 1_500

/** The request that the parameters make, as they are filled in, to copy. */
export function Samples({ asked }: { asked: Asked }) {
  const [chosen, setChosen] = useState(0)
  const [copied, setCopied] = useState(false)
  useEffect(() => {
    if (!copied) return
    const timer = setTimeout(() => setCopied(false), COPIED_MS)
    return () => clearTimeout(timer)
  }, [copied])
  const [, write] = LANGUAGES[chosen]!
  const text = write(asked)
  return (
    <section class="samples" aria-label="The request in code">
      <div class="samples-bar">
        <div class="segments">
          {LANGUAGES.map(([name], index) => (
            <button type="button" key={name} aria-pressed={index === chosen} onClick={() => setChosen(index)}>
              {name}
            </button>
          ))}
        </div>
        <button
          type="button"
          class="button"
          onClick={() => void navigator.clipboard.writeText(text).then(() => setCopied(true))}
        >
          {copied ? 'Copied' : 'Copy'}
        </button>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys. */}
      <pre class="sample" tabIndex={0}>
        <code>{text}</code>
      </pre>
    </section>
  )
}
