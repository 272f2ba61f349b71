import type { Sorting } from './sorting.ts'

export type SortProps = {
  sorting: Sorting
  /** Takes a column's name, with a minus in front for the highest first. */
  onSort: (chosen: string) => void
}

export type SortFieldProps = SortProps & { columns: readonly { name: string; title: string }[] }

/** Chooses the order if there is no room for headers. */
export function SortField({ columns, sorting, onSort }: SortFieldProps) {
  return (
    <label class="field inline sort-field">
      <span class="field-label">Sort by</span>
      <select value={nameOf(sorting)} onChange={(event) => onSort(event.currentTarget.value)}>
        {columns.flatMap(({ name, title }) => [
          <option key={`-${name}`} value={`-${name}`}>{`${title}, highest first`}</option>,
          <option key={name} value={name}>{`${title}, lowest first`}</option>,
        ])}
      </select>
    </label>
  )
}

export type SortHeaderProps = SortProps & {
  /** Null for a column that nothing is sorted by. */
  name: string | null
  title: string
  meaning?: string | undefined
  figure?: boolean
  /** Whether the first click sorts from the lowest: names, not figures. */
  rising?: boolean
}

/** The header of a column, which sorts by it: one way, then the other way round. */
export function SortHeader({ name, title, meaning, sorting, figure, rising, onSort }: SortHeaderProps) {
  const style = figure ? 'figure-column' : ''
  if (name === null) {
    return (
      <th scope="col" class={style} title={meaning}>
        {title}
      </th>
    )
  }
  const sorted = sorting.column === name
  const descending = sorted ? !sorting.descending : !rising
  return (
    <th
      scope="col"
      class={style}
      aria-sort={sorted ? (sorting.descending ? 'descending' : 'ascending') : 'none'}
    >
      <button
        type="button"
        class="sort"
        title={meaning}
        onClick={() => onSort(nameOf({ column: name, descending }))}
      >
        {title}
        <span aria-hidden="true" class="sort-mark">
          {sorted ? (sorting.descending ? '↓' : '↑') : ''}
        </span>
      </button>
    </th>
  )
}

function nameOf({ column, descending }: Sorting): string {
  return `${descending ? '-' : ''}${column}`
}
