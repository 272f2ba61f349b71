/** Two sides have nothing comparable, or a side's answer is incomplete. */
export class CompareError extends Error {
  override name = 'CompareError'
}
