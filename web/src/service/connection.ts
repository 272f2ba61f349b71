import { batch, effect, signal } from '@preact/signals'
import { takeEarly } from './early.ts'

/** Whether the service answers: not known yet, yes, or not since a time (milliseconds). */
export type ConnectionState = { state: 'unknown' } | { state: 'up' } | { state: 'down'; since: number }

const FIRST_RETRY_MS = 1_000
const LONGEST_RETRY_MS = 8_000

export const connection = signal<ConnectionState>({ state: 'unknown' })

/** When the service is tried again, milliseconds; null while it answers. */
export const nextTry = signal<number | null>(null)

/** Number of reconnections: earlier requests must be repeated after each. */
export const recoveries = signal(0)

/** `fetch`, which also notes whether the service answers at all. */
export const watchedFetch: typeof fetch = async (input, init) => {
  try {
    const response = await ((typeof input === 'string' ? takeEarly(input) : null) ?? fetch(input, init))
    noteAnswer()
    return response
  } catch (error) {
    if (!init?.signal?.aborted || init.signal.reason?.name === 'TimeoutError') noteSilence()
    throw error
  }
}

function noteAnswer(): void {
  const { state } = connection.peek()
  if (state === 'up') return
  batch(() => {
    connection.value = { state: 'up' }
    if (state === 'down') recoveries.value++
  })
}

function noteSilence(): void {
  if (connection.peek().state !== 'down') connection.value = { state: 'down', since: Date.now() }
}

/** Asks at once whether the service is back. */
export async function tryNow(): Promise<void> {
  await watchedFetch('/health', { signal: AbortSignal.timeout(5_000), cache: 'no-store' }).catch(() => {})
}

effect(() => {
  if (connection.value.state !== 'down') {
    nextTry.value = null
    return
  }
  let waitMs = FIRST_RETRY_MS
  let timer: ReturnType<typeof setTimeout>
  const schedule = () => {
    nextTry.value = Date.now() + waitMs
    timer = setTimeout(async () => {
      await tryNow()
      waitMs = Math.min(waitMs * 2, LONGEST_RETRY_MS)
      if (connection.peek().state === 'down') schedule()
    }, waitMs)
  }
  schedule()
  return () => clearTimeout(timer)
})
