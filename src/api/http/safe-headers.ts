/** Headers of every answer, whatever it is: browsers take the body for what its type says, and for nothing else. */
export const SAFE_HEADERS = { 'x-content-type-options': 'nosniff' } as const
