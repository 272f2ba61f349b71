import { formatTime } from '#core/domain/time'
import { type Field, isNodeOf, isObject } from '#core/model/field'
import { onOneLine } from '#core/model/node-json'
import { LISTS, NODE_PARTS } from '#core/resources/resources'

const NODES = new Map([...LISTS, ...NODE_PARTS].map(({ nodeName, fields }) => [nodeName, fields]))

/** The names of the fields that are times, of a node and of the objects in it. */
export function timeNamesOf(fields: readonly Field[]): ReadonlySet<string> {
  return new Set(
    fields.flatMap(({ name, form }) => {
      if (form === 'time') return [name]
      if (isObject(form)) return [...timeNamesOf(form.object)]
      return isNodeOf(form) ? [...timeNamesOf(NODES.get(form.nodeOf)!)] : []
    }),
  )
}

/**
 * JSON of one line with its times as RFC 3339 in UTC, to the nanosecond.
 *
 * @param names the names of the fields that are times, wherever they are
 */
export function withIsoTimes(json: string, names: ReadonlySet<string>): string {
  const shown = JSON.parse(json, (name, value: unknown) =>
    names.has(name) && typeof value === 'string' ? formatTime(BigInt(value), 'all digits') : value,
  )
  return onOneLine(JSON.stringify(shown))
}
