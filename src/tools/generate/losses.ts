import { createRandom } from './random.ts'

/** What a party receives at the end of a funding period, in the asset's decimals; negative if it pays. */
type PartyPayment = { party: Uint8Array; amount: bigint }

/**
 * Returns the losses of a period's payments: first what each payer did not pay (positive), then what each receiver did not
 * get (negative), in proportion. An indivisible rest goes to nobody.
 */
export type LossesOf = (payments: readonly PartyPayment[]) => PartyPayment[]

/** Creates the function that from time to time lets some of the payers not pay everything. */
export function createLosses(seed: number): LossesOf {
  const random = createRandom(seed, 'losses')

  return (payments) => {
    if (!random.onceIn(3)) return []
    const unpaid = payments
      .filter(({ amount }) => amount < 0n)
      .flatMap(({ party, amount }) => {
        // A closed-out party pays nothing.
        const percent = random.onceIn(2) ? 0 : random.onceIn(4) ? 100 : random.between(1, 99)
        const missing = (-amount * BigInt(percent)) / 100n
        return missing === 0n ? [] : [{ party, amount: missing }]
      })
    const missing = sumOf(unpaid)
    const receivers = payments.filter(({ amount }) => amount > 0n)
    const due = sumOf(receivers)
    if (missing === 0n || due === 0n) return []
    const notReceived = receivers
      .map(({ party, amount }) => ({ party, amount: -(amount * missing) / due }))
      .filter(({ amount }) => amount < 0n)
    return [...unpaid, ...notReceived]
  }
}

function sumOf(payments: readonly PartyPayment[]): bigint {
  return payments.reduce((sum, { amount }) => sum + amount, 0n)
}
