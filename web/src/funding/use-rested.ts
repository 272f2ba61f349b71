import { useEffect, useState } from 'preact/hooks'
import type { Range } from '../series/series.ts'

const REST_MS = 250

/** A range once it has not changed for a while: one that is dragged is not asked for all the way. */
export function useRested({ from, to }: Range): Range {
  const [rested, setRested] = useState({ from, to })
  useEffect(() => {
    if (rested.from === from && rested.to === to) return
    const timer = setTimeout(() => setRested({ from, to }), REST_MS)
    return () => clearTimeout(timer)
  }, [from, to, rested])
  return rested
}
