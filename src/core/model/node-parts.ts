import { columnOf, type Field, isList, isNodeOf, isObject, isStored } from './field.ts'

/*
 * A node's JSON is written by this program (node-json.ts) or by SQLite (node-sql.ts). Both join the same parts. For a field
 * `name` of form `text` and a field `endTime` of form `time` that is left out if null, these are
 *
 *   constant   {
 *   constant   "name":
 *   value      name                     a text with its quotes, escaped
 *   optional   end_time                 nothing if the column is null; else
 *                constant   ,"endTime":
 *                constant   "
 *                value      end_time
 *                constant   "
 *   constant   }
 */

/** A text that is the same for all rows of one market, `scope`. */
export type ConstantPart = { constant: (scope: string) => string }

/** The value of a column. */
export type ValuePart = { column: string; form: Field['form'] }

/** Parts that depend on a column: `parts` if it is not null, else the text `ifNull`. */
type OptionalPart = { column: string; parts: NodePart[]; ifNull: string }

/** A part of a node's text. */
export type NodePart = ConstantPart | ValuePart | OptionalPart

/** A text that is the same in every row. */
export const constant = (text: string): ConstantPart => ({ constant: () => text })

/** The text of an object with these fields, in parts. */
export function objectParts(fields: readonly Field[]): NodePart[] {
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
  return isJson(form) || form === 'text' || form === 'boolean'
    ? [value]
    : [constant('"'), value, constant('"')]
}

/** Whether a column contains JSON exactly as answers do. */
const isJson = (form: Field['form']) => isStored(form) || isList(form) || isNodeOf(form)

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
