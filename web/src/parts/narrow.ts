import { useEffect, useRef, useState } from 'preact/hooks'

const NARROW_PX = 640

/** Whether the page is that of a phone. */
export function useNarrow(): boolean {
  const query = useRef(matchMedia(`(max-width: ${NARROW_PX}px)`))
  const [narrow, setNarrow] = useState(query.current.matches)
  useEffect(() => {
    const change = ({ matches }: MediaQueryListEvent) => setNarrow(matches)
    query.current.addEventListener('change', change)
    return () => query.current.removeEventListener('change', change)
  }, [])
  return narrow
}
