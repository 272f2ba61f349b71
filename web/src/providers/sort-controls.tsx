import type { Column, Sorting } from './columns.ts'

export type SortProps = {
  sorting: Sorting
  /** Takes a column's name, with a minus in front for the highest first. */
  onSort: (chosen: string) => void
}

export type SortFieldProps = SortProps & { idTitle: string; columns: readonly Column[] }

/** Chooses the order where there is no room for headers. */
export function SortField({ idTitle, columns, sorting, onSort }: SortFieldProps) {
  return (
    <label class="field inline sort-field">
      <span class="field-label">Sort by</span>
      <select value={nameOf(sorting)} onChange={(event) => onSort(event.currentTarget.value)}>
        {[{ name: 'id', title: idTitle }, ...columns.filter(({ list }) => !list)].flatMap(
          ({ name, title }) => [
            <option key={`-${name}`} value={`-${name}`}>{`${title}, highest first`}</option>,
            <option key={name} value={name}>{`${title}, lowest first`}</option>,
          ],
        )}
      </select>
    </label>
  )
}

export type SortHeaderProps = SortProps & {
  name: string
  title: string
  meaning?: string
  figure?: boolean
  list?: boolean
}

/** The header of a column, which sorts by it: the highest first, then the other way round. */
export function SortHeader({ name, title, meaning, sorting, figure, list, onSort }: SortHeaderProps) {
  const style = figure ? 'figure-column' : ''
  if (list) {
    return (
      <th scope="col" class={style} title={meaning}>
        {title}
      </th>
    )
  }
  const sorted = sorting.column === name
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
        onClick={() => onSort(nameOf({ column: name, descending: !(sorted && sorting.descending) }))}
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
