import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'

export type TablePlaceProps = {
  name: string
  /** Whether its last columns are shown first. */
  atEnd?: boolean
  children: ComponentChildren
}

/**
 * A frame in which a wide table scrolls sideways, by keys too; it shades the edge that hides more. The head stays
 * visible while the page scrolls.
 */
export function TablePlace({ name, atEnd = false, children }: TablePlaceProps) {
  const place = useRef<HTMLElement>(null)
  const [more, setMore] = useState({ left: false, right: false })
  const fits = !more.left && !more.right
  useEffect(() => {
    const element = place.current!
    const look = () => {
      const { paddingLeft, paddingRight } = getComputedStyle(element)
      const room = element.clientWidth - Number.parseFloat(paddingLeft) - Number.parseFloat(paddingRight)
      const width = element.firstElementChild?.clientWidth ?? 0
      const { scrollLeft } = element
      const next = { left: scrollLeft > 1, right: scrollLeft + room < width - 1 }
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
  useEffect(() => {
    if (fits) return
    const element = place.current!
    if (atEnd) element.scrollLeft = element.scrollWidth
    const hold = () => {
      const bar = Number.parseFloat(getComputedStyle(element).getPropertyValue('--header-height'))
      const { top, height } = element.getBoundingClientRect()
      const head = element.querySelector('thead')?.clientHeight ?? 0
      const shift = Math.min(Math.max(0, bar - top), height - 2 * head)
      element.style.setProperty('--head-shift', `${Math.max(0, shift)}px`)
    }
    addEventListener('scroll', hold, { passive: true })
    hold()
    return () => removeEventListener('scroll', hold)
  }, [fits])
  return (
    <div class={`table-frame ${more.left ? 'more-left' : ''} ${more.right ? 'more-right' : ''}`}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what does not fit is reached by scrolling. */}
      <section ref={place} class={`table-place ${fits ? 'fits' : ''}`} tabIndex={0} aria-label={name}>
        {children}
      </section>
      {!fits && (
        <p class="scroll-hint" aria-hidden="true">
          {more.right ? 'Scroll sideways for more columns →' : '← Scroll back'}
        </p>
      )}
    </div>
  )
}
