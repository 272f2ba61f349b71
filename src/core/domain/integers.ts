/** Bounds of the integer types of parameters and columns. */
export const MAX_INT32 = 2n ** 31n - 1n
export const MIN_INT32 = -(2n ** 31n)
export const MAX_INT64 = 2n ** 63n - 1n
export const MIN_INT64 = -(2n ** 63n)
export const MAX_UINT64 = 2n ** 64n - 1n

/** The least of some values, one at least. */
export function least<Value extends bigint | string>(values: readonly Value[]): Value {
  return values.reduce((a, b) => (b < a ? b : a))
}

/** The greatest of some values, one at least. */
export function greatest<Value extends bigint | string>(values: readonly Value[]): Value {
  return values.reduce((a, b) => (b > a ? b : a))
}

/** The least of some values that are not null; null if there is none. */
export function leastOrNull(values: readonly (bigint | null)[]): bigint | null {
  const some = values.filter((value) => value !== null)
  return some.length === 0 ? null : least(some)
}

/** The greatest of some values that are not null; null if there is none. */
export function greatestOrNull(values: readonly (bigint | null)[]): bigint | null {
  const some = values.filter((value) => value !== null)
  return some.length === 0 ? null : greatest(some)
}

/** The nearest 64-bit integer, which a store accepts. */
export function nearestInt64(value: bigint): bigint {
  return value < MIN_INT64 ? MIN_INT64 : value > MAX_INT64 ? MAX_INT64 : value
}
