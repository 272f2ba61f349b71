import { useEffect, useRef, useState } from 'preact/hooks'
import { recoveries } from './connection.ts'

/** What has become of a question to the service. What was known of the same key stays while it is asked again. */
export type Query<T> = { data: T | null; error: Error | null; loading: boolean; reload: () => void }

/**
 * Asks the service, again whenever the key changes or the service has come back. Null for a key asks nothing.
 *
 * @param key names what is asked
 * @param keep whether what was known of the key before stays until the new one's answer is there
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
