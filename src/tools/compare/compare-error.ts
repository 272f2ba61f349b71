/** Nothing of two sides can be compared, or a side's answer is incomplete. */
export class CompareError extends Error {
  override name = 'CompareError'
}
