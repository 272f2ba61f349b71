import type { ComponentChildren } from 'preact'

/** Where a table is scrolled sideways if it does not fit, also by keys. */
export function TablePlace({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what does not fit is reached by scrolling.
    <section class="table-place" tabIndex={0} aria-label={name}>
      {children}
    </section>
  )
}
