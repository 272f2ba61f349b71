import { useEffect, useRef, useState } from 'preact/hooks'
import { recoveries } from './connection.ts'

/** State of a request. Earlier data of the same key remain during a reload. */
export type Query<T> = { data: T | null; error: Error | null; loading: boolean; reload: () => void }

/**
 * Requests data, again whenever the key changes or the service is back. A null key requests nothing.
 *
 * @param key identifies the request
 *
 * @param keep whether data of the previous key remain until the new answer arrives
 */
export function useQuery<T>(
  key: string | null,
  ask: (signal: AbortSignal) => Promise<T>,
  { keep = false }: { keep?: boolean } = {},
): Query<T> {
  const [asked, setAsked] = useState(0)
  const [answer, setAnswer] = useState<{ key: string; data: T | null; error: Error | null } | null>(null)
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
        setAnswer({ key, data, error: null })
        setLoading(false)
      },
      (error: Error) => {
        if (stop.signal.aborted) return
        setAnswer((known) => ({
          key,
          data: keep || known?.key === key ? (known?.data ?? null) : null,
          error,
        }))
        setLoading(false)
      },
    )
    return () => stop.abort()
  }, [key, asked, recovered, keep])

  const known = answer !== null && (keep || answer.key === key) ? answer : null
  return {
    data: known?.data ?? null,
    error: known?.error ?? null,
    loading: loading || (key !== null && known === null),
    reload: () => setAsked((count) => count + 1),
  }
}
