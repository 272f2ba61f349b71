import { wordsOfName } from '../domain/words.ts'
import type { Selection } from './filters.ts'
import type { Row } from './row.ts'

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
   * The row's column with its value, or whose null decides, if it is not the field's name in snake case. `scope` is the
   * market of the request.
   */
  column?: string
  form: ValueForm | StoredForm | ObjectForm | NodeOf
  /** The result if the column is null. Without it the column is never null. */
  ifNull?: 'null' | 'left out'
  /** For a text that is a number or empty; a `number` and a `rate` have their own. */
  decimal?: DecimalForm
  /** The column without which the value is not final. Exports and market summaries then omit the value. */
  finalWith?: string
}

/** An object that is stored as the JSON that answers contain. */
type StoredForm = { typeName: string; stored: readonly StoredField[] }

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
/** Whether a form is an object made of columns. */
export const isObject = (form: Field['form']): form is ObjectForm =>
  typeof form === 'object' && 'object' in form
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

/** A text that is the same for all rows of one market. */
type ConstantPart = { constant: (scope: string) => string }

/**
 * A part of a node's text: a constant, a column's value, or two lists of parts, one for a column that is not null, one for
 * null.
 */
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

/** Whether a column contains JSON exactly as answers do. */
const isJson = (form: Field['form']) => isStored(form) || isNodeOf(form)

/** A part of a node's text, for a row. */
type ValueText = (row: Row, scope: string) => string

/**
 * Creates the writer of a resource's nodes: from a row to the API's JSON.
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

/** Joins parts. The texts between two values are joined once for each market: a page has one. */
function writerOf(parts: readonly (ConstantPart | { value: ValueText })[]): ValueText {
  const merged = mergedParts(parts)
  const values = merged.flatMap((part) => ('value' in part ? [part.value] : []))
  let textsScope: string | null = null
  /** The text before each value, and after the last one. */
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

/** Texts that JSON does not escape: without quotes, backslashes, control characters and line ends. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON escapes exactly these.
const UNESCAPED = /^[^"\\\u0000-\u001f\u0085\u2028\u2029\ud800-\udfff]*$/

/** A text as a JSON string. */
function jsonText(text: string): string {
  return UNESCAPED.test(text) ? `"${text}"` : onOneLine(JSON.stringify(text))
}

/** Characters that JSON may contain unescaped but that some line readers take for the end of a line, with their escapes. */
const LINE_ENDS = new Map([
  ['\u0085', '\\u0085'],
  ['\u2028', '\\u2028'],
  ['\u2029', '\\u2029'],
])

/** The same JSON with every character escaped that a line reader may take for the end of a line. */
export function onOneLine(json: string): string {
  return json.replace(/[\u0085\u2028\u2029]/g, (found) => LINE_ENDS.get(found)!)
}

/** The first bytes of every such character in UTF-8: U+0085 is `C2 85`, U+2028 and U+2029 are `E2 80 A8` and `E2 80 A9`. */
const LINE_END_HEADS = [Buffer.of(0xc2, 0x85), Buffer.of(0xe2, 0x80)]

/** {@link onOneLine} of JSON in UTF-8. Nearly always nothing needs escaping, and the result is the same buffer. */
export function bytesOnOneLine(json: Buffer): Buffer {
  return LINE_END_HEADS.some((head) => json.includes(head)) ? Buffer.from(onOneLine(json.toString())) : json
}

/** A part of SQL that results in a text: a constant, or an expression over a row. */
export type SqlPart = ConstantPart | { sql: string }

/**
 * The text that {@link nodeWriter} writes, as parts that SQLite joins. The result is on one line only after {@link
 * bytesOnOneLine}, which examines all rows at once.
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

/** The parts of one row's text as one expression; no constant may depend on the scope. */
function joinSql(parts: readonly SqlPart[]): string {
  return `concat(${parts.map((part) => ('sql' in part ? part.sql : sqlText(part.constant('')))).join(', ')})`
}

/** A text as an SQL literal. */
export function sqlText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

/** The same parts, with adjacent constants joined. */
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
