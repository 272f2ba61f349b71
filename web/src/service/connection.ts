import { batch, effect, signal } from '@preact/signals'
import { LyraAnswerError, LyraApiError, LyraConnectionError } from 'lyra-client'
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

/** Statuses by which a proxy says that the service does not answer; the service itself has reasons for 503. */
const PROXY_STATUSES: readonly number[] = [502, 503, 504]

/**
 * `fetch`, which also notes whether the service answers at all. A proxy's answer in its place is none: it fails like a lost
 * connection. A stream proves nothing either: a proxy may keep it open, or answer it by itself.
 */
export const watchedFetch: typeof fetch = async (input, init) => {
  try {
    const response = await ((typeof input === 'string' ? takeEarly(input) : null) ?? fetch(input, init))
    if (PROXY_STATUSES.includes(response.status) && !(await isOfService(response))) {
      throw new TypeError(`a proxy answered ${response.status}`)
    }
    if (!response.headers.get('content-type')?.startsWith('text/event-stream')) noteAnswer()
    return response
  } catch (error) {
    if (!init?.signal?.aborted || init.signal.reason?.name === 'TimeoutError') noteSilence()
    throw error
  }
}

/** Whether an answer of such a status is the API's: an error, or what `/ready` says. */
async function isOfService(response: Response): Promise<boolean> {
  const body = await response
    .clone()
    .json()
    .catch(() => null)
  return typeof body?.code === 'number' || typeof body?.status === 'string'
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

/** What an error says; null if only that there was no answer. An answer that is not the API's is not repeated: it may be HTML. */
export function reasonOf(error: Error): string | null {
  if (error instanceof LyraConnectionError) return null
  if (error instanceof LyraAnswerError || error instanceof SyntaxError) return 'not an answer of Lyra'
  return error instanceof LyraApiError && error.code === null
    ? `${error.status}: not an answer of Lyra`
    : error.message
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
