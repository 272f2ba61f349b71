/* What a value is to look like that another program, or another version of this one, may have written. */

/** Whether a value has a certain shape. */
export type Shape = (value: unknown) => boolean

/** The value of a JSON text, of any shape; undefined if the text is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A text. */
export const isText = (value: unknown): value is string => typeof value === 'string'

/** True or false. */
export const isFlag: Shape = (value) => typeof value === 'boolean'

/** A finite number. */
export const isNumber: Shape = (value) => Number.isFinite(value)

/** A whole number from 0 on. */
export const isCount: Shape = (value) => Number.isSafeInteger(value) && (value as number) >= 0

/** An integer as text. */
export const isInteger: Shape = (value) => typeof value === 'string' && /^-?\d{1,20}$/.test(value)

/** A block height as text. */
export const isHeight = (value: unknown): value is string =>
  typeof value === 'string' && /^\d{1,19}$/.test(value)

/** Null, or of a shape. */
export const orNull =
  (shape: Shape): Shape =>
  (value) =>
    value === null || shape(value)

/** Null, absent, or of a shape. */
export const orNone =
  (shape: Shape): Shape =>
  (value) =>
    value == null || shape(value)

/** A list of values of a shape. */
export const isListOf =
  (shape: Shape): Shape =>
  (value) =>
    Array.isArray(value) && value.every(shape)

/** An object whose values are of a shape, under any names. */
export const isMapOf =
  (shape: Shape): Shape =>
  (value) =>
    typeof value === 'object' && value !== null && !Array.isArray(value) && Object.values(value).every(shape)

/** An object with values of these shapes; it may have more. */
export const isObject =
  (shapes: Record<string, Shape>): Shape =>
  (value) =>
    Object.entries(shapes).every(([name, shape]) => shape(objectIn(value)[name]))

/** A value as an object; an empty one if it is none. */
export const objectIn = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
