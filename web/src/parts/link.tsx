import type { ComponentChildren } from 'preact'
import { addressOf, goTo, type Params, type View } from '../location.ts'

export type LinkProps = {
  view: View
  params?: Params
  children: ComponentChildren
  class?: string
  title?: string
  'aria-current'?: 'page'
}

/** A link to a view; opens within the page, or as the reader asks the browser to. */
export function Link({ view, params = {}, children, ...rest }: LinkProps) {
  return (
    <a
      {...rest}
      href={addressOf(view, params)}
      onClick={(event) => {
        if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
        event.preventDefault()
        goTo(view, params)
      }}
    >
      {children}
    </a>
  )
}
