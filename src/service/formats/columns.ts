import { QUOTIENT_SCALE } from '#core/domain/decimal'
import {
  columnOf,
  type DecimalForm,
  type Field,
  isNodeOf,
  isObject,
  isStored,
  namesOf,
  type StoredField,
} from '#core/model/field'
import type { Resource, Row, Selection } from '#core/model/resource'
import { LISTS, NODE_PARTS } from '#core/resources/resources'

/** A value of a table: text, an integer as digits, a list of texts joined by commas, or none. */
export type CellValue = string | null

/**
 * Type of a table column. Integers are signed 64-bit; prices and quantities, which may be of any size, are text. Times
 * are Unix nanoseconds.
 */
export type ColumnKind = 'text' | 'integer' | 'time' | 'list' | 'boolean'

/** A column of a resource's rows as a table: the nodes of the API, with nested fields as separate columns. */
export type ExportColumn = {
  name: string
  kind: ColumnKind
  /** Whether a row may have no value. */
  nullable: boolean
  /** Set if its texts are decimal numbers; in some columns an empty text means null. */
  decimal?: DecimalForm & { mayBeEmpty?: true }
}

/** A resource as a table; the cursor of a row is added by the formats that have one. */
type ExportTable = {
  columns: readonly ExportColumn[]
  /** The values of a row, one for each column. */
  cells(row: Row, selection: Selection): CellValue[]
}

/** Columns that are read from a row together; `add` appends their values. */
type FieldColumns = { columns: ExportColumn[]; add: (cells: CellValue[], row: Row, scope: string) => void }

/** The fields of nodes, by the name of their type: of those that others are made of, too. */
const FIELDS = new Map([...LISTS, ...NODE_PARTS].map(({ nodeName, fields }) => [nodeName, fields]))

/**
 * A resource as a table, by its description.
 *
 * @throws {TypeError} for a description that gives two columns the same name.
 */
export function exportTableOf(resource: Resource): ExportTable {
  const { name, fields, exportFirst = [], storage, lists, finalRow = (row) => row } = resource
  const first = exportFirst.map((wanted) => fields.find((field) => field.name === wanted)!)
  const rowColumns = storage.columns.map((column) => column.name)
  const parts = [...first, ...fields.filter((field) => !first.includes(field))].map((field) =>
    columnsOfField(field, rowColumns),
  )
  const columns = parts.flatMap((part) => part.columns)
  const names = new Set([...columns.map((column) => column.name), 'cursor'])
  if (names.size <= columns.length)
    throw new TypeError(`${name}: two columns of its export have the same name`)
  return {
    columns,
    cells: (row, selection) => {
      const cells: CellValue[] = []
      const shown = lists.shownRow(finalRow(row), selection)
      for (const { add } of parts) add(cells, shown, selection.marketId ?? '')
      return cells
    },
  }
}

function columnsOfField(field: Field, rowColumns: readonly string[]): FieldColumns {
  const { name, column, form } = field
  const at = rowColumns.indexOf(columnOf(field))
  const nullable = field.ifNull !== undefined
  if (isStored(form)) {
    const shown = form.stored.filter(({ isRepeated }) => isRepeated !== true)
    return {
      columns: shown.map(
        (stored): ExportColumn => ({
          name: stored.name,
          kind: stored.form === 'texts' ? 'list' : 'text',
          nullable,
          ...decimalOf(stored),
        }),
      ),
      add: (cells, row) => {
        const stored = row[at] as string | null
        const object = stored === null ? null : (JSON.parse(stored) as Record<string, string | string[]>)
        for (const stored of shown) cells.push(object === null ? null : String(object[stored.name]))
      },
    }
  }
  if (isNodeOf(form)) {
    // Its market is the row's.
    const fields = FIELDS.get(form.nodeOf)!.filter((inner) => inner.name !== 'marketId')
    const columns = columnsOfFields(fields)
    return {
      columns: columns.map((inner) => ({ ...inner, name: prefixed(name, inner.name), nullable: true })),
      add: (cells, row) =>
        cells.push(...cellsOfNode(fields, row[at] === null ? null : JSON.parse(row[at] as string))),
    }
  }
  if (isObject(form)) {
    const parts = form.object.map((inner) => columnsOfField(inner, rowColumns))
    const columns = parts.flatMap((part) => part.columns)
    const named = (inner: string) =>
      form.exportPrefix === undefined || inner.startsWith(form.exportPrefix)
        ? inner
        : prefixed(form.exportPrefix, inner)
    return {
      columns: columns.map((inner) => ({
        ...inner,
        name: named(inner.name),
        nullable: nullable || inner.nullable,
      })),
      add: (cells, row, scope) => {
        if (row[at] === null) cells.push(...columns.map(() => null))
        else for (const { add } of parts) add(cells, row, scope)
      },
    }
  }
  const columns: ExportColumn[] = [{ name, kind: columnKind(form), nullable, ...decimalOf(field) }]
  if (column === 'scope') return { columns, add: (cells, _, scope) => cells.push(scope) }
  const names = namesOf(form)
  return {
    columns,
    add: (cells, row) => {
      const value = row[at]!
      if (value === null) cells.push(null)
      else if (form === 'boolean') cells.push(String(Number(value) === 1))
      else cells.push(names === null ? String(value) : names[Number(value)]!)
    },
  }
}

function decimalOf({
  form,
  decimal,
}: Pick<Field | StoredField, 'form' | 'decimal'>): Pick<ExportColumn, 'decimal'> {
  if (form === 'number') return { decimal: { scale: 0 } }
  if (form === 'rate') return { decimal: { scale: QUOTIENT_SCALE } }
  return decimal === undefined ? {} : { decimal: { ...decimal, mayBeEmpty: true } }
}

const prefixed = (prefix: string, name: string) => `${prefix}${name[0]!.toUpperCase()}${name.slice(1)}`

/** The columns of a node, in the order of {@link cellsOfNode}. */
export function columnsOfFields(fields: readonly Field[]): ExportColumn[] {
  return fields.flatMap((field) => columnsOfField(field, []).columns)
}

/** The values of a node, or of none, as it is answered. */
export function cellsOfNode(fields: readonly Field[], node: object | null): CellValue[] {
  const values = (node ?? {}) as Record<string, string | object | null>
  return fields.flatMap(({ name, form }): CellValue[] => {
    const value = values[name] ?? null
    if (isObject(form)) return cellsOfNode(form.object, value as object | null)
    return [value === null ? null : String(value)]
  })
}

function columnKind(form: Field['form']): ColumnKind {
  if (form === 'time') return 'time'
  if (form === 'boolean') return 'boolean'
  return form === 'integer' || form === 'signed' ? 'integer' : 'text'
}
