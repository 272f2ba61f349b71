import { wordsOfName } from '../domain/words.ts'
import type { FilterName } from './filters.ts'

/** Form of a value. In JSON every value is a string; only texts may contain characters that need escaping. */
export type ValueForm =
  /** An integer of 64 bits, at least 0. */
  | 'integer'
  /** A signed integer of 64 bits. */
  | 'signed'
  /** Unix nanoseconds. */
  | 'time'
  /** A decimal number of any size, as the network sent it: an amount in the asset's smallest unit, or a rate. */
  | 'number'
  | 'rate'
  | 'marketId'
  | 'partyId'
  | 'text'
  /** Stored as 0 or 1. */
  | 'boolean'
  | NameForm

/** An enum: stored as a small number, shown as a name. */
type NameForm = { typeName: string; names: readonly string[] }

/** A number's type in Parquet: its digits after the point, and whether further digits are rounded off. */
export type DecimalForm = { scale: number; isRounded?: true }

/** A field of an object that is stored as the JSON that answers contain. */
export type StoredField = {
  name: string
  meaning: string
  form: 'partyId' | 'text' | 'texts'
  /** For a text that is a number or empty. */
  decimal?: DecimalForm
  /** Whether exports omit it because it repeats another column. */
  isRepeated?: true
}

/** A field of a node. */
export type Field = {
  name: string
  /** Description for OpenAPI and the client's types. */
  meaning: string
  /**
   * The row's column that contains the value, or whose null stands for the whole object; by default the field's name in
   * snake case. `scope` is the market of the request.
   */
  column?: string
  form: ValueForm | StoredForm | ListForm | ObjectForm | NodeOf
  /** The result if the column is null. Without it the column is never null. */
  ifNull?: 'null' | 'left out'
  /** For a text that is a number or empty; a `number` and a `rate` have their own. */
  decimal?: DecimalForm
  /** The column without which the value is not final. Exports and market summaries then omit the value. */
  finalWith?: string
}

/** An object that is stored as the JSON that answers contain. */
type StoredForm = { typeName: string; stored: readonly StoredField[] }

/** A list of objects that is stored as the JSON that answers contain. */
type ListForm = {
  typeName: string
  /** What an element is. */
  meaning: string
  elements: readonly StoredField[]
  /** Requests with the filter get only the elements in which the field has one of its ids. */
  filtered?: { by: FilterName; field: string }
}

/** A node of another operation, by the name of its type, stored as the JSON that answers contain. */
type NodeOf = { nodeOf: string }

/** An object made of other columns; null if the field's own column is null. */
type ObjectForm = {
  typeName: string
  object: readonly Field[]
  /**
   * The prefix of its fields' names in exports, in which each is a column: `id` becomes `settlementAssetId`. A name that
   * has the prefix already stays, as `slaCompetitionFactor`.
   */
  exportPrefix?: string
}

/** Whether a form is an object that is stored as JSON. */
export const isStored = (form: Field['form']): form is StoredForm =>
  typeof form === 'object' && 'stored' in form

/** Whether a form is a list of objects that is stored as JSON. */
export const isList = (form: Field['form']): form is ListForm =>
  typeof form === 'object' && 'elements' in form

/** Whether a form is an object made of columns. */
export const isObject = (form: Field['form']): form is ObjectForm =>
  typeof form === 'object' && 'object' in form

/** Whether a form is a node of another operation. */
export const isNodeOf = (form: Field['form']): form is NodeOf => typeof form === 'object' && 'nodeOf' in form

/** The names of an enum, by number; null if the form is not an enum. */
export const namesOf = (form: Field['form']): readonly string[] | null =>
  typeof form === 'object' && 'names' in form ? form.names : null

/** The column of a field. */
export const columnOf = ({ name, column }: Field): string => column ?? wordsOfName(name, '_')

/** The columns of a row that fields show, each with the form of its value. */
export function* shownColumns(
  fields: readonly Field[],
): Generator<[column: string, form: Field['form']], void, undefined> {
  for (const field of fields) {
    const column = columnOf(field)
    if (isObject(field.form)) yield* shownColumns(field.form.object)
    else if (column !== 'scope') yield [column, field.form]
  }
}
