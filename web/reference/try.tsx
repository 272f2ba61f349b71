import { useEffect, useRef, useState } from 'preact/hooks'
import { type Asked, addressOf } from './samples.ts'

/** Characters of an answer that are shown; a page of thousands of rows would take seconds to lay out. */
const MAX_SHOWN = 20_000

/** Binary: not shown as text. */
const PARQUET_TYPE = 'application/vnd.apache.parquet'

/** The received part of an answer. */
type Answer = {
  status: number
  headers: [name: string, value: string][]
  ms: number
  text: string
  /** Whether there is more than is shown. */
  isCut: boolean
  isWhole: boolean
}

/** Sends the request, and shows the answer; of a stream, everything until it is stopped. */
export function Try({ asked }: { asked: Asked }) {
  const [answer, setAnswer] = useState<Answer | string | null>(null)
  const running = useRef<AbortController | null>(null)
  const [isRunning, setRunning] = useState(false)
  useEffect(() => () => running.current?.abort(), [])

  async function execute() {
    running.current?.abort()
    const stop = new AbortController()
    running.current = stop
    setRunning(true)
    try {
      for await (const found of read(asked, stop.signal)) setAnswer(found)
    } catch (error) {
      if (!stop.signal.aborted) setAnswer(`No response: ${(error as Error).message}`)
    } finally {
      if (running.current === stop) setRunning(false)
    }
  }

  return (
    <section class="try" aria-label="Try it">
      <div class="try-bar">
        <button type="button" class="button execute" onClick={() => void execute()}>
          Execute
        </button>
        {isRunning && (
          <button type="button" class="button" onClick={() => running.current?.abort()}>
            Stop
          </button>
        )}
        <span aria-live="polite">
          {answer !== null && typeof answer !== 'string' && (
            <>
              <strong class={answer.status < 400 ? 'good' : 'bad'}>{answer.status}</strong>{' '}
              <span class="quiet">in {answer.ms} ms</span>
            </>
          )}
        </span>
      </div>
      {typeof answer === 'string' && <p class="bad">{answer}</p>}
      {answer !== null && typeof answer !== 'string' && <Shown answer={answer} />}
    </section>
  )
}

function Shown({ answer }: { answer: Answer }) {
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys. */}
      <pre class="answer" tabIndex={0}>
        <code>{answer.text}</code>
      </pre>
      {answer.isCut && (
        <p class="quiet">The response is longer: its first {MAX_SHOWN} characters are shown.</p>
      )}
      <details class="more">
        <summary>Response headers</summary>
        <dl class="headers">
          {answer.headers.map(([name, value]) => (
            <div key={name}>
              <dt>
                <code>{name}</code>
              </dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      </details>
    </>
  )
}

/** Yields the received part of an answer whenever it grows. */
async function* read(asked: Asked, signal: AbortSignal): AsyncGenerator<Answer, void, undefined> {
  const startedAt = performance.now()
  const headers = asked.given
    .filter((parameter) => parameter.in === 'header')
    .map(({ name, value }): [string, string] => [name, value])
  const response = await fetch(addressOf(asked), { headers, signal, cache: 'no-store' })
  const head = { status: response.status, headers: [...response.headers] }
  const ms = () => Math.round(performance.now() - startedAt)
  if (response.headers.get('content-type')?.startsWith('application/json')) {
    const text = indented(await response.text())
    yield { ...head, ms: ms(), text: text.slice(0, MAX_SHOWN), isCut: text.length > MAX_SHOWN, isWhole: true }
    return
  }
  if (response.headers.get('content-type') === PARQUET_TYPE) {
    await response.body?.cancel()
    const text = 'A Parquet file, which the code above downloads.'
    yield { ...head, ms: ms(), text, isCut: false, isWhole: true }
    return
  }
  const reader = response.body?.getReader()
  const decoder = new TextDecoder()
  let text = ''
  yield { ...head, ms: ms(), text, isCut: false, isWhole: reader === undefined }
  while (reader !== undefined) {
    const { done, value } = await reader.read()
    text += decoder.decode(value, { stream: !done })
    const isCut = text.length > MAX_SHOWN
    yield { ...head, ms: ms(), text: text.slice(0, MAX_SHOWN), isCut, isWhole: done }
    if (isCut) await reader.cancel()
    if (done || isCut) return
  }
}

function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
