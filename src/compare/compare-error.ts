/** Two sides of which nothing can be compared, or a side that does not say what it must. */
export class CompareError extends Error {
  override name = 'CompareError'
}
