import { wordsOfName } from '../domain/words.ts'
import type { Selection } from './filters.ts'
import type { Row } from './row.ts'

/** Form of a value. In JSON every value is a string; only texts may contain characters that need escaping. */
export type ValueForm =
  /** An integer of 64 bits, at least 0. */
  | 'integer'
  /** An integer of 64 bits that may be below zero. */
  | 'signed'
  /** Unix nanoseconds. */
  | 'time'
  /** A decimal number of any size, as the network sent it: an amount in the asset's smallest unit, or a rate. */
  | 'number'
  | 'rate'
  | 'marketId'
  | 'partyId'
  | 'text'
  | NameForm

/** An enum: stored as a small number, shown as a name. */
type NameForm = { typeName: string; names: readonly string[] }

/** A number's type in Parquet: its digits after the point, and whether further digits are rounded off. */
export type DecimalForm = { scale: number; isRounded?: true }

/** A field of an object that is stored as the JSON of answers. */
export type StoredField = {
  name: string
  meaning: string
  form: 'partyId' | 'text' | 'texts'
  /** Of a text that is a number, or empty. */
  decimal?: DecimalForm
  /** Whether exports leave it out, since it repeats another column. */
  isRepeated?: true
}

/** A field of a node. */
export type Field = {
  name: string
  /** Description for OpenAPI and the client's types. */
  meaning: string
  /**
   * The row's column with its value, or whose null decides, if its name is not the field's in snake case; `scope`: the
   * market of the request.
   */
  column?: string
  form: ValueForm | StoredForm | ObjectForm | NodeOf
  /** Result if the column is null; without it the column is never null. */
  ifNull?: 'null' | 'left out'
  /** Of a text that is a number, or empty; a `number` and a `rate` have their own. */
  decimal?: DecimalForm
  /** The column without which the value is not final: exports and market summaries then have none. */
  finalWith?: string
}

/** An object that is stored as the JSON of answers. */
type StoredForm = { typeName: string; stored: readonly StoredField[] }

/** A node of another operation, by the name of its type; stored as the JSON of answers. */
type NodeOf = { nodeOf: string }

/** An object of further columns; null if the field's own column is. */
type ObjectForm = {
  typeName: string
  object: readonly Field[]
  /**
   * What its fields' names begin with in exports, if each is a column: `id` is `settlementAssetId` there, and
   * `slaCompetitionFactor` stays.
   */
  exportPrefix?: string
}

export const isStored = (form: Field['form']): form is StoredForm =>
  typeof form === 'object' && 'stored' in form
export const isObject = (form: Field['form']): form is ObjectForm =>
  typeof form === 'object' && 'object' in form
export const isNodeOf = (form: Field['form']): form is NodeOf => typeof form === 'object' && 'nodeOf' in form
export const namesOf = (form: Field['form']): readonly string[] | null =>
  typeof form === 'object' && 'names' in form ? form.names : null

/** The column of a field. */
export const columnOf = ({ name, column }: Field): string => column ?? wordsOfName(name, '_')

/** The columns of a row that fields show, each with the form of its values. */
export function* shownColumns(
  fields: readonly Field[],
): Generator<[column: string, form: Field['form']], void, undefined> {
  for (const field of fields) {
    const column = columnOf(field)
    if (isObject(field.form)) yield* shownColumns(field.form.object)
    else if (column !== 'scope') yield [column, field.form]
  }
}

/** A text that is the same for all rows of a scope. */
type ConstantPart = { constant: (scope: string) => string }

/** A part of a node's text: a constant; a column's value; or parts for a column that is not null, and for one that is. */
type NodePart =
  | ConstantPart
  | { column: string; form: Field['form'] }
  | { column: string; parts: NodePart[]; ifNull: string }

const constant = (text: string): ConstantPart => ({ constant: () => text })

function objectParts(fields: readonly Field[]): NodePart[] {
  if (fields[0]!.ifNull === 'left out') throw new TypeError('the first field of an object is always there')
  const parts = fields.flatMap((field, index): NodePart[] => {
    const head = `${index === 0 ? '' : ','}"${field.name}":`
    const own = [constant(head), ...valueParts(field)]
    if (field.ifNull === undefined) return own
    return [{ column: columnOf(field), parts: own, ifNull: field.ifNull === 'null' ? `${head}null` : '' }]
  })
  return [constant('{'), ...parts, constant('}')]
}

function valueParts(field: Field): NodePart[] {
  const { form } = field
  const column = columnOf(field)
  if (column === 'scope') return [{ constant: (scope) => `"${scope}"` }]
  if (isObject(form)) return objectParts(form.object)
  const value = { column, form }
  return isJson(form) || form === 'text' ? [value] : [constant('"'), value, constant('"')]
}

/** Whether a column holds JSON as it is answered. */
const isJson = (form: Field['form']) => isStored(form) || isNodeOf(form)

/** A piece of a node's text, as it follows from a row. */
type ValueText = (row: Row, scope: string) => string

/**
 * Makes the writer of a resource's nodes: rows as the API's JSON.
 *
 * @param columns the names of a row's columns, in their order
 */
export function nodeWriter(
  fields: readonly Field[],
  columns: readonly string[],
): (row: Row, selection: Selection) => string {
  const textPart = (part: NodePart): ConstantPart | { value: ValueText } => {
    if ('constant' in part) return part
    const at = columns.indexOf(part.column)
    if (at < 0) throw new TypeError(`no column ${part.column}`)
    if ('form' in part) return { value: valueText(part.form, at) }
    const write = writerOf(part.parts.map(textPart))
    return { value: (row, scope) => (row[at] === null ? part.ifNull : write(row, scope)) }
  }
  const write = writerOf(objectParts(fields).map(textPart))
  return (row, { marketId }) => write(row, marketId ?? '')
}

function valueText(form: Field['form'], at: number): ValueText {
  if (form === 'text') return (row) => jsonText(row[at] as string)
  const names = namesOf(form)
  return names === null ? (row) => row[at] as string : (row) => names[row[at] as number] as string
}

/** Joins parts: the texts between two values are put together once for each scope, and pages have one. */
function writerOf(parts: readonly (ConstantPart | { value: ValueText })[]): ValueText {
  const merged = mergedParts(parts)
  const values = merged.flatMap((part) => ('value' in part ? [part.value] : []))
  let textsScope: string | null = null
  /** Text before each value, and after the last. */
  let texts: string[] = []
  const textsOf = (scope: string) => {
    const found = ['']
    for (const part of merged) {
      if ('value' in part) found.push('')
      else found[found.length - 1] += part.constant(scope)
    }
    return found
  }
  return (row, scope) => {
    if (scope !== textsScope) {
      texts = textsOf(scope)
      textsScope = scope
    }
    let text = ''
    for (let index = 0; index < values.length; index++) text += texts[index]! + values[index]!(row, scope)
    return text + texts[values.length]!
  }
}

/** Texts that need no escaping in JSON: without quotes, backslashes, control characters and ends of lines. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON escapes exactly these.
const UNESCAPED = /^[^"\\\u0000-\u001f\u0085\u2028\u2029\ud800-\udfff]*$/

/** A text as a JSON string. */
function jsonText(text: string): string {
  return UNESCAPED.test(text) ? `"${text}"` : onOneLine(JSON.stringify(text))
}

/** The characters that JSON may hold as they are, and at which some readers of lines cut, with their escapes. */
const LINE_ENDS = new Map([
  ['\u0085', '\\u0085'],
  ['\u2028', '\\u2028'],
  ['\u2029', '\\u2029'],
])

/** JSON of one line, with every character escaped that a reader of lines may take for the end of one. */
export function onOneLine(json: string): string {
  return json.replace(/[\u0085\u2028\u2029]/g, (found) => LINE_ENDS.get(found)!)
}

/** What every such character begins with in UTF-8: U+0085 is `C2 85`, U+2028 and U+2029 are `E2 80 A8` and `E2 80 A9`. */
const LINE_END_HEADS = [Buffer.of(0xc2, 0x85), Buffer.of(0xe2, 0x80)]

/** {@link onOneLine} of JSON in UTF-8: the same bytes, which hardly ever need escapes, or others. */
export function bytesOnOneLine(json: Buffer): Buffer {
  return LINE_END_HEADS.some((head) => json.includes(head)) ? Buffer.from(onOneLine(json.toString())) : json
}

/** A piece of SQL that gives a piece of text: a text that is the same for all rows, or an expression over a row. */
export type SqlPart = ConstantPart | { sql: string }

/**
 * The text that {@link nodeWriter} writes, as SQLite puts it together: parts to be joined. What they give is on one line
 * only after {@link bytesOnOneLine}, which looks through all rows at once.
 *
 * @param known values of columns that are the same for all rows, by name
 */
export function nodeSql(fields: readonly Field[], known: Readonly<Record<string, string>>): SqlPart[] {
  const sqlPart = (part: NodePart): SqlPart => {
    if ('constant' in part) return part
    const { column } = part
    if ('form' in part) return valueSql(part, known[column])
    const none = sqlText(part.ifNull)
    return { sql: `case when ${column} is null then ${none} else ${joinSql(part.parts.map(sqlPart))} end` }
  }
  return objectParts(fields).map(sqlPart)
}

function valueSql(
  { form, column }: Extract<NodePart, { form: unknown }>,
  known: string | undefined,
): SqlPart {
  if (form === 'text') return { sql: `json_quote(${column})` }
  const names = namesOf(form)
  if (names === null) return { sql: column }
  if (known !== undefined) return constant(names[Number(known)]!)
  return {
    sql: `case ${column} ${names.map((name, number) => `when ${number} then '${name}'`).join(' ')} end`,
  }
}

/** Parts of one row's text as one expression; constants must not depend on the scope. */
function joinSql(parts: readonly SqlPart[]): string {
  return `concat(${parts.map((part) => ('sql' in part ? part.sql : sqlText(part.constant('')))).join(', ')})`
}

/** A text as a literal of SQL. */
export function sqlText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

/** Parts with adjacent constant ones joined. */
export function mergedParts<Part extends object>(
  parts: readonly (ConstantPart | Part)[],
): (ConstantPart | Part)[] {
  const merged: (ConstantPart | Part)[] = []
  for (const part of parts) {
    const last = merged.at(-1)
    if (last !== undefined && 'constant' in last && 'constant' in part) {
      const { constant: before } = last
      merged[merged.length - 1] = { constant: (scope) => before(scope) + part.constant(scope) }
    } else merged.push(part)
  }
  return merged
}
