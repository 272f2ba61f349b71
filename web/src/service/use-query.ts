import { useEffect, useRef, useState } from 'preact/hooks'
import { recoveries } from './connection.ts'

/** State of a request. Earlier data remain until the next answer, also those of another key. */
export type Query<T> = { data: T | null; error: Error | null; loading: boolean; reload: () => void }

/**
 * Requests data, again whenever the key changes or the service is back. A null key requests nothing.
 *
 * @param key identifies the request
 */
export function useQuery<T>(key: string | null, ask: (signal: AbortSignal) => Promise<T>): Query<T> {
  const [asked, setAsked] = useState(0)
  const [answer, setAnswer] = useState<{ data: T | null; error: Error | null } | null>(null)
  const [loading, setLoading] = useState(key !== null)
  const latest = useRef(ask)
  latest.current = ask
  const recovered = recoveries.value

  useEffect(() => {
    if (key === null) {
      setLoading(false)
      return
    }
    const stop = new AbortController()
    setLoading(true)
    latest.current(stop.signal).then(
      (data) => {
        if (stop.signal.aborted) return
        setAnswer({ data, error: null })
        setLoading(false)
      },
      (error: Error) => {
        if (stop.signal.aborted) return
        setAnswer((known) => ({ data: known?.data ?? null, error }))
        setLoading(false)
      },
    )
    return () => stop.abort()
  }, [key, asked, recovered])

  return {
    data: answer?.data ?? null,
    error: answer?.error ?? null,
    loading: loading || (key !== null && answer === null),
    reload: () => setAsked((count) => count + 1),
  }
}
