import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'

/** Where a table is scrolled sideways if it does not fit, also by keys; it says so, and shades the edge that hides more. */
export function TablePlace({ name, children }: { name: string; children: ComponentChildren }) {
  const place = useRef<HTMLElement>(null)
  const [more, setMore] = useState({ left: false, right: false })
  useEffect(() => {
    const element = place.current!
    const look = () => {
      const { scrollLeft, scrollWidth, clientWidth } = element
      const next = { left: scrollLeft > 1, right: scrollLeft + clientWidth < scrollWidth - 1 }
      setMore((known) => (known.left === next.left && known.right === next.right ? known : next))
    }
    const resized = new ResizeObserver(look)
    resized.observe(element)
    if (element.firstElementChild !== null) resized.observe(element.firstElementChild)
    element.addEventListener('scroll', look, { passive: true })
    look()
    return () => {
      resized.disconnect()
      element.removeEventListener('scroll', look)
    }
  }, [])
  return (
    <div class={`table-frame ${more.left ? 'more-left' : ''} ${more.right ? 'more-right' : ''}`}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what does not fit is reached by scrolling. */}
      <section ref={place} class="table-place" tabIndex={0} aria-label={name}>
        {children}
      </section>
      {(more.left || more.right) && (
        <p class="scroll-hint" aria-hidden="true">
          {more.right ? 'Scroll sideways for more columns →' : '← Scroll back'}
        </p>
      )}
    </div>
  )
}
