import { type Field, namesOf } from './field.ts'
import type { Selection } from './filters.ts'
import { type ConstantPart, mergedParts, type NodePart, objectParts } from './node-parts.ts'
import type { Row } from './row.ts'

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
  if (form === 'boolean') return (row) => String(Number(row[at]) === 1)
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
    const ofScope = ['']
    for (const part of merged) {
      if ('value' in part) ofScope.push('')
      else ofScope[ofScope.length - 1] += part.constant(scope)
    }
    return ofScope
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
