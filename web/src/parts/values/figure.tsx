import type { ComponentChildren } from 'preact'

export type FigureProps = {
  name: string
  main: ComponentChildren
  /** Text if there is no figure. */
  none: string
  /** Whether it may be outdated. */
  stale?: boolean
  children?: ComponentChildren
}

/** A figure that a reader came for, with its name above and what belongs to it beneath. */
export function Figure({ name, main, none, stale = false, children }: FigureProps) {
  return (
    <div class={stale ? 'figure stale' : 'figure'}>
      <span class="figure-name">{name}</span>
      {main === null ? (
        <span class="figure-more none">{none}</span>
      ) : (
        <span class="figure-value">{main}</span>
      )}
      {children}
    </div>
  )
}
