import { isOfAllMarkets, type KeyValue } from '../../model/resource.ts'
import type { Statement } from '../queries-protocol.ts'
import type { Scan } from './scan.ts'

/** The sources of a statement's values: a scan, and the scan of rows at or before its cursor. */
type Inputs = { scan: Scan; limit: number; atOrBefore?: Scan | null }

/**
 * Which of a page's two scans a condition belongs to. Both have the same selection but different bounds: the placeholder of
 * the page's lower end is `scan lower 0`, that of the rows at or before the cursor `atOrBefore lower 0`.
 */
export type ScanRole = 'scan' | 'atOrBefore'

/** Where the value of a placeholder comes from, for example `({ limit }) => BigInt(limit)`. */
type ValueSource = (inputs: Inputs) => KeyValue

const templates = new Map<string, (inputs: Inputs) => Statement>()

/**
 * The statement for all scans of the same shape, whose text is composed once.
 *
 * @param kind distinguishes it from other statements for such a scan
 */
export function templateOf(
  kind: string,
  scan: Scan,
  build: (placeholders: Placeholders) => string,
): (inputs: Inputs) => Statement {
  const shape = `${kind} ${shapeOf(scan)}`
  let template = templates.get(shape)
  if (template === undefined) {
    const placeholders = new Placeholders()
    const text = build(placeholders)
    const { list } = placeholders
    template = (inputs) => ({ text, values: list.map((source) => source(inputs)) })
    templates.set(shape, template)
  }
  return template
}

/**
 * The key by which statements of scans are cached. The market and filters are bound as values, so only their presence counts,
 * but the filter that chooses a series is part of the text.
 */
export function shapeOf({ resource, selection, lower, upper, descending }: Scan): string {
  const isOfAll = isOfAllMarkets(resource, selection)
  let shape = `${resource.name} ${isOfAll} ${descending} ${lower?.inclusive} ${upper?.inclusive} ${selection.greatest}`
  if (resource.overlapRange !== undefined)
    shape += ` ${selection.from === undefined} ${selection.to === undefined}`
  for (const { name } of resource.filters) {
    const value = selection[name]
    shape += ` ${name === resource.storage.series?.filter ? value : value === undefined}`
  }
  return shape
}

/**
 * The placeholders of a statement whose text is being composed, each with the source of its value: the first call of
 * `add('limit', ({ limit }) => BigInt(limit))` returns `$1`.
 */
export class Placeholders {
  readonly list: ValueSource[] = []
  readonly #placeholders = new Map<string, string>()

  /** The placeholder of a value; values of the same name share it. */
  add(name: string, source: ValueSource): string {
    let placeholder = this.#placeholders.get(name)
    if (placeholder === undefined) {
      placeholder = `$${this.list.push(source)}`
      this.#placeholders.set(name, placeholder)
    }
    return placeholder
  }
}
