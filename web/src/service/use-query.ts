import { useEffect, useRef, useState } from 'preact/hooks'
import { recoveries } from './connection.ts'

/** State of a request. `Answered` of `parts/states/states.tsx` shows each figure of `data` as what it is. */
export type Query<T> = {
  /**
   * The last answer. While another question is being answered, still that to the one before, for some seconds; null if it has
   * failed.
   */
  data: T | null
  /** Whether `data` is the answer to another question: another market, party, range or page. */
  isOther: boolean
  /** When `data` arrived, in milliseconds, if the same question has failed since; null otherwise. */
  staleSince: number | null
  error: Error | null
  loading: boolean
  reload: () => void
}

/** How current an answer is, without the answer. */
export type QueryState = Omit<Query<unknown>, 'data'>

export type QueryOptions = {
  /** Changes when the same question may have a new answer. */
  version?: string
  /**
   * The list of which the question is a page: its rows on another page say themselves what they are, and stay, dimmed, until this
   * page has arrived. By default the question itself.
   */
  list?: string
  /** A question that changes quickly, as while a range is dragged, is asked once it has rested for so long; milliseconds. */
  restMs?: number
}

/** How long figures of another list stay, dimmed, while the list that the page names is not answered; milliseconds. */
const OTHER_MS = 5_000

/** The answer to a question, or the error; after an error with the earlier answer to the same question, if there is one. */
type Answer<T> = { subject: string; list: string; data: T | null; at: number; error: Error | null }

/**
 * Requests data: at once for another question, or if the service is back; for another version of the same question as soon as its
 * request has ended, so that a slow answer is still shown.
 *
 * @param subject identifies the question; null asks nothing
 */
export function useQuery<T>(
  subject: string | null,
  ask: (signal: AbortSignal) => Promise<T>,
  { version = '', list = subject ?? '', restMs = 0 }: QueryOptions = {},
): Query<T> {
  const [asked, setAsked] = useState(0)
  const [answer, setAnswer] = useState<Answer<T> | null>(null)
  const [loading, setLoading] = useState(subject !== null)
  const isFirst = useRef(true)
  const latest = useRef({ ask, version })
  latest.current = { ask, version }
  /** Asks for the latest version, unless a request is under way, which does so at its end. */
  const refresh = useRef<(() => void) | null>(null)
  const recovered = recoveries.value

  useEffect(() => {
    if (subject === null) {
      setLoading(false)
      return
    }
    const stop = new AbortController()
    let isAsking = true
    const settle = (next: (known: Answer<T> | null) => Answer<T>) => {
      if (stop.signal.aborted) return
      setAnswer(next)
      setLoading(false)
    }
    const run = async () => {
      isAsking = true
      let version: string
      do {
        version = latest.current.version
        setLoading(true)
        await latest.current.ask(stop.signal).then(
          (data) => settle(() => ({ subject, list, data, at: Date.now(), error: null })),
          (error: Error) =>
            settle((known) =>
              known?.subject === subject ? { ...known, error } : { subject, list, data: null, at: 0, error },
            ),
        )
      } while (version !== latest.current.version && !stop.signal.aborted)
      isAsking = false
    }
    refresh.current = () => {
      if (!isAsking) void run()
    }
    setLoading(true)
    const forgetting = setTimeout(() => setAnswer((known) => (known?.list === list ? known : null)), OTHER_MS)
    const timer = isFirst.current || restMs === 0 ? void run() : setTimeout(run, restMs)
    isFirst.current = false
    return () => {
      clearTimeout(timer)
      clearTimeout(forgetting)
      stop.abort()
      refresh.current = null
    }
  }, [subject, asked, recovered])

  useEffect(() => refresh.current?.(), [version])

  const known = subject === null ? null : answer
  const isOwn = known?.subject === subject
  const error = isOwn ? known!.error : null
  return {
    data: known?.data ?? null,
    isOther: known !== null && known.data !== null && !isOwn,
    staleSince: error !== null && known!.data !== null ? known!.at : null,
    error,
    loading: subject !== null && (loading || !isOwn),
    reload: () => setAsked((count) => count + 1),
  }
}

/** The state of figures that need several answers: that of the one that is least current. */
export function together(...queries: readonly QueryState[]): QueryState {
  const stale = queries.flatMap(({ staleSince }) => staleSince ?? [])
  return {
    isOther: queries.some(({ isOther }) => isOther),
    staleSince: stale.length === 0 ? null : Math.min(...stale),
    error: queries.find(({ error }) => error !== null)?.error ?? null,
    loading: queries.some(({ loading }) => loading),
    reload: () => {
      for (const { error, reload } of queries) if (error !== null) reload()
    },
  }
}
