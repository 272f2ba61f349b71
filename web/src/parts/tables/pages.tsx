import { groupDigits } from '../../figures/format-figure.ts'
import { param, setParams } from '../../location.ts'

/** A page of a list that is loaded whole. */
type ListPage = {
  /** The parameter with the page's number. */
  name: string
  page: number
  pages: number
  /** The index of its first row, and how many rows it has at most. */
  first: number
  rows: number
  /** Rows of all pages. */
  count: number
}

/** Which page of a list the view's state names; the nearest that there is. */
export function pageOf(name: string, count: number, rows: number): ListPage {
  const pages = Math.max(1, Math.ceil(count / rows))
  const page = Math.min(pages, Math.max(1, Math.trunc(Number(param(name) ?? 1)) || 1))
  return { name, page, pages, first: (page - 1) * rows, rows, count }
}

/** Goes from page to page of a list; nothing if there is one. */
export function Pages({ name, page, pages, first, rows, count, what }: ListPage & { what: string }) {
  if (pages === 1) return null
  const go = (next: number) => setParams({ [name]: next === 1 ? null : `${next}` })
  return (
    <nav class="pager" aria-label={`Pages of ${what}`}>
      <button type="button" class="button" disabled={page === 1} onClick={() => go(page - 1)}>
        Previous
      </button>
      <span class="quiet">
        {groupDigits(`${first + 1}`)} to {groupDigits(`${Math.min(count, first + rows)}`)} of{' '}
        {groupDigits(`${count}`)}
      </span>
      <button type="button" class="button" disabled={page === pages} onClick={() => go(page + 1)}>
        Next
      </button>
    </nav>
  )
}
