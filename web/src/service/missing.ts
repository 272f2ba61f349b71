import { type Missing, missingIn } from 'lyra-client'
import { groupDigits } from '../figures/format-figure.ts'
import { formatMinute } from '../figures/format-time.ts'
import { latestCoverage } from './coverage.ts'

/** Resources that figures are computed from, and the name of their rows in a sentence. */
const ROWS = {
  checkpoints: 'checkpoints',
  epochs: 'starts or ends of epochs',
  fundingPayments: 'funding payments',
  fundingPeriods: 'funding periods',
  fundingPeriodDataPoints: 'data points',
  liquidityProviderHistory: 'epochs of providers',
  liquidityProviders: 'liquidity provisions',
  paidLiquidityFees: 'fees of providers',
} as const

export type SummedResource = keyof typeof ROWS

/** A range of times; an end that is null is open. */
export type OpenRange = { from: bigint | null; to: bigint | null }

/** So many ranges of blocks are named, the latest ones. */
const NAMED = 2

const NOTHING: Missing = { missing: [], since: null }

/** What is missing of a resource's rows in a range, as far as coverage has been reported. */
export function missingOf(resource: SummedResource, { from, to }: OpenRange): Missing {
  const coverage = latestCoverage()
  return coverage === null ? NOTHING : missingIn(coverage, resource, from, to)
}

/** The ranges of blocks whose rows of a resource are missing, of those above one height and up to another. */
export function missingBetween(resource: SummedResource, from: bigint, to: bigint): Missing['missing'] {
  const { missing } = missingOf(resource, { from: null, to: null })
  return missing.filter((range) => BigInt(range.to) > from && BigInt(range.from) <= to)
}

/** Whether all rows of a range are stored, so that none means that there were none. */
export function isWhole({ missing, since }: Missing): boolean {
  return missing.length === 0 && since === null
}

/**
 * What is missing, in sentences; null if nothing is: `Blocks 1,500 to 1,700 (2024-09-16 04:30 to 2024-09-18 15:30 UTC) are missing.
 * If there were funding payments in them, they are not in the figures here.` Whether there were any, nobody can say.
 */
export function describeMissing(resource: SummedResource, { missing, since }: Missing): string | null {
  const sentences = []
  if (missing.length > 0) {
    const others = missing.length - NAMED
    const named = missing.slice(-NAMED).map(describeBlocks)
    const earlier =
      others > 0 ? [`${groupDigits(`${others}`)} earlier ${others === 1 ? 'range' : 'ranges'}`] : []
    sentences.push(
      `Blocks ${[...named, ...earlier].join(' and ')} are missing or incomplete. If there were ${ROWS[resource]} in them, they are not in the figures here.`,
    )
  }
  if (since !== null) {
    const when = since.start === null ? '' : ` (${formatMinute(since.start)} UTC)`
    sentences.push(`Not all ${ROWS[resource]} before block ${groupDigits(since.height)}${when} are stored.`)
  }
  return sentences.length === 0 ? null : sentences.join(' ')
}

function describeBlocks({ from, to, start, end }: Missing['missing'][number]): string {
  const blocks = from === to ? groupDigits(from) : `${groupDigits(from)} to ${groupDigits(to)}`
  if (start === null || end === null) return blocks
  return `${blocks} (${formatMinute(start)} to ${formatMinute(end)} UTC)`
}

/**
 * The steps of a range of which blocks are missing, by their start; steps begin at multiples of their length. Blocks of
 * unknown times are of no step.
 */
export function missingSteps(
  { missing }: Missing,
  { from, to }: { from: bigint; to: bigint },
  length: bigint,
): Set<bigint> {
  const steps = new Set<bigint>()
  for (const { start, end } of missing) {
    if (start === null || end === null) continue
    const first = BigInt(start) > from ? BigInt(start) : from
    const after = BigInt(end) < to ? BigInt(end) : to
    for (let step = first - (first % length); step < after; step += length) steps.add(step)
  }
  return steps
}
