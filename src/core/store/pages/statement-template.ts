import type { KeyValue } from '../../model/resource.ts'
import type { Scan } from './scan.ts'
import type { Statement } from './statement.ts'

/** The sources of a statement's values: a scan, and the scan of rows at or before its cursor. */
type Inputs = { scan: Scan; limit: number; atOrBefore?: Scan | null }

/** Which of the two scans a condition belongs to; both have the same selection. */
export type Role = 'scan' | 'atOrBefore'

/** Gives the value of a placeholder. */
type Slot = (inputs: Inputs) => KeyValue

const templates = new Map<string, (inputs: Inputs) => Statement>()

/**
 * The statement for all scans of the same shape, whose text is composed once.
 *
 * @param kind distinguishes it from other statements for such a scan
 */
export function templateOf(
  kind: string,
  scan: Scan,
  build: (slots: Slots) => string,
): (inputs: Inputs) => Statement {
  const shape = `${kind} ${shapeOf(scan)}`
  let template = templates.get(shape)
  if (template === undefined) {
    const slots = new Slots()
    const text = build(slots)
    const { list } = slots
    template = (inputs) => ({ text, values: list.map((slot) => slot(inputs)) })
    templates.set(shape, template)
  }
  return template
}

/**
 * The key by which statements of scans are cached. Filters are bound as values, but the one that chooses a series is part
 * of the text.
 */
export function shapeOf({ resource, selection, lower, upper, descending }: Scan): string {
  let shape = `${resource.name} ${descending} ${lower?.inclusive} ${upper?.inclusive}`
  for (const { name } of resource.filters) {
    const value = selection[name]
    shape += ` ${name === resource.storage.series?.filter ? value : value === undefined}`
  }
  return shape
}

/** Collects the sources of a statement's values, and numbers their placeholders. */
export class Slots {
  readonly list: Slot[] = []
  readonly #placeholders = new Map<string, string>()

  /** The placeholder of a value; values of the same name share it. */
  add(name: string, slot: Slot): string {
    let placeholder = this.#placeholders.get(name)
    if (placeholder === undefined) {
      placeholder = `$${this.list.push(slot)}`
      this.#placeholders.set(name, placeholder)
    }
    return placeholder
  }
}
