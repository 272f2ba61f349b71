import type { PageInfo } from 'lyra-client'
import { param, setParams } from '../../location.ts'

/** Goes to the next page and the one before; the cursor is the parameter `after` or `before`. */
export function Pager({ page, what }: { page: { pageInfo: PageInfo; rows: unknown[] }; what: string }) {
  const { hasNextPage, hasPreviousPage, startCursor, endCursor } = page.pageInfo
  const first = param('after') === null && param('before') === null
  if (first && !hasNextPage) return null
  return (
    <nav class="pager" aria-label={`Pages of ${what}`}>
      <button
        type="button"
        class="button"
        disabled={first}
        onClick={() => setParams({ after: null, before: null, height: null })}
      >
        Newest
      </button>
      <button
        type="button"
        class="button"
        disabled={first || !hasPreviousPage}
        onClick={() => setParams({ before: startCursor, after: null, height: null })}
      >
        Newer
      </button>
      <button
        type="button"
        class="button"
        disabled={!hasNextPage}
        onClick={() => setParams({ after: endCursor, before: null, height: null })}
      >
        Older
      </button>
    </nav>
  )
}
