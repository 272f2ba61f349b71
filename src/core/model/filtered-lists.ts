import { columnOf, type Field, isList } from './field.ts'
import { type FilterName, idsIn, type Selection } from './filters.ts'
import { onOneLine } from './node-json.ts'
import type { Row } from './row.ts'

/** A list of elements in a row: where it is, and the filter that excludes elements by one of their fields. */
type FilteredList = { at: number; by: FilterName; field: string }

/** The lists in rows whose elements filters exclude. */
export type FilteredLists = {
  /** Whether a selection may have rows of which it shows only parts of a list. */
  areCutBy(selection: Selection): boolean
  /** The row that a selection shows. */
  shownRow(row: Row, selection: Selection): Row
}

/** @param columns the names of a row's columns, in their order */
export function filteredListsOf(fields: readonly Field[], columns: readonly string[]): FilteredLists {
  const lists = fields.flatMap((field): FilteredList[] =>
    isList(field.form) && field.form.filtered !== undefined
      ? [{ at: columns.indexOf(columnOf(field)), ...field.form.filtered }]
      : [],
  )
  const areCutBy = (selection: Selection) => lists.some(({ by }) => selection[by] !== undefined)
  return {
    areCutBy,
    shownRow: (row, selection) => {
      if (!areCutBy(selection)) return row
      const shown = [...row]
      for (const { at, by, field } of lists) {
        const ids = selection[by]
        if (ids !== undefined) shown[at] = elementsOf(row[at] as string, field, idsIn(String(ids)))
      }
      return shown
    },
  }
}

/** The elements of a list, as JSON, in which a field has one of some ids. */
function elementsOf(json: string, field: string, ids: readonly string[]): string {
  const elements = JSON.parse(json) as Readonly<Record<string, string>>[]
  return onOneLine(JSON.stringify(elements.filter((element) => ids.includes(element[field]!))))
}
