import { type Context, nextTransaction } from './context.ts'
import { EVENT_TYPES } from './event-types.ts'
import type { Market } from './market.ts'
import type { Random } from './random.ts'

/** `LiquidityProvision.Status`. */
const ACTIVE = 1
const STOPPED = 2
const CANCELLED = 3
const REJECTED = 4
const UNDEPLOYED = 5
const PENDING = 6

/** The SLA that every generated market requires. */
export const SLA_TERMS = { minTimeFraction: 0.6, competitionFactor: 0.5 }

/** A party's commitment to a market, with a new id each time that the party returns. */
export type Provision = {
  id: Uint8Array
  party: Uint8Array
  market: Market
  reference: string
  /** Whole units of the asset. */
  commitment: number
  fee: string
  /** Unix nanoseconds. */
  createdAt: bigint
  version: number
  status: number
  /** Its results in the last epoch. */
  lastEpoch: { timeOnBook: string; feePenalty: string; bondPenalty: string }
}

/** A new provision, which has not been sent. */
export function createProvision(
  random: Random,
  party: Uint8Array,
  market: Market,
  reference: string,
): Provision {
  return {
    id: Buffer.from(random.hex(), 'latin1'),
    party,
    market,
    reference,
    commitment: randomCommitment(random),
    fee: `0.${String(random.between(1, 500)).padStart(4, '0')}`,
    createdAt: 0n,
    version: 1,
    status: ACTIVE,
    lastEpoch: { timeOnBook: '0', feePenalty: '0', bondPenalty: '0' },
  }
}

/** Whether the core lists the party as a provider. A new provision that is still pending is not listed. */
export function isListed({ status, version }: Provision): boolean {
  return status === ACTIVE || status === UNDEPLOYED || (status === PENDING && version > 1)
}

/** Sends a new provision at the beginning of the network. */
export function announceProvision(context: Context, provision: Provision): void {
  provision.createdAt = context.block.time
  writeProvision(context, provision)
}

/** Amends, undeploys, cancels or renews a provision, whichever is possible after its status, and sends it. */
export function changeProvision(context: Context, provision: Provision): void {
  const { random } = context
  nextTransaction(context)
  if (provision.status === ACTIVE) {
    const choice = random.below(20)
    provision.status = choice < 9 ? PENDING : choice < 15 ? UNDEPLOYED : choice < 19 ? CANCELLED : STOPPED
    if (provision.status === PENDING) {
      provision.version++
      provision.commitment = randomCommitment(random)
    }
  } else if (provision.status === PENDING || provision.status === UNDEPLOYED) {
    provision.status = ACTIVE
  } else {
    provision.id = Buffer.from(random.hex(), 'latin1')
    provision.createdAt = context.block.time
    provision.version = 1
    provision.status = random.onceIn(8) ? REJECTED : PENDING
  }
  writeProvision(context, provision)
}

/**
 * Sets the provider's results in the epoch that ends: in three of four cases it was on the book for long enough. As in the
 * core, its fee penalty follows from that time, with a hysteresis of one epoch.
 */
export function endEpoch(provision: Provision, random: Random): void {
  const isEnough = !random.onceIn(4)
  const timeOnBook = `0.${isEnough ? random.between(6, 9) : random.below(6)}${random.digits(8)}`
  const unused = (1 - Number(timeOnBook)) / (1 - SLA_TERMS.minTimeFraction)
  provision.lastEpoch = {
    timeOnBook,
    feePenalty: isEnough ? (unused * SLA_TERMS.competitionFactor).toFixed(9) : '1',
    bondPenalty: isEnough ? '0' : `0.0${random.digits(8)}`,
  }
}

/** The provider's fees for its last epoch: a thousandth of its commitment, minus its fee penalty. */
export function feesPaid(provision: Provision): bigint {
  const left = 1_000_000_000 - Math.round(Number(provision.lastEpoch.feePenalty) * 1e9)
  return (BigInt(assetAmount(provision, provision.commitment)) * BigInt(left)) / 1_000_000_000_000n
}

/** Whole units of the market's asset in the asset's decimals, as the core sends amounts. */
export function assetAmount({ market }: Provision, units: number): string {
  return units + '0'.repeat(market.instrument.asset.decimals)
}

function randomCommitment(random: Random): number {
  return random.between(1, 50_000)
}

function writeProvision(context: Context, provision: Provision): void {
  context.out.write(EVENT_TYPES.liquidityProvision, context.transaction, {
    1: provision.id,
    2: provision.party,
    3: provision.createdAt,
    4: context.block.time,
    5: provision.market.id,
    6: assetAmount(provision, provision.commitment),
    7: provision.fee,
    10: provision.version,
    11: provision.status,
    12: provision.reference,
  })
}
