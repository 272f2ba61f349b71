import { UsageError } from '#core/domain/plain-error'
/** Options of the generator; all but `blocks` have a default. */
export type GenerateOptions = {
  /** Blocks to generate, 1 to 10^9. */
  blocks: number
  /** Perpetual markets, 1 to 10,000. */
  markets?: number
  /** Liquidity providers over all markets, 0 to 100,000. */
  parties?: number
  /**
   * New data points in each block, over all markets, on average; may be fractional. At most one for each market, because
   * the core takes one internal point a second.
   */
  points?: number
  /**
   * Records in each block of kinds that the service does not store, on average; may be fractional; 0 to 100,000. Cancelled
   * and expired orders, and the records of large blocks, are additional; with 0 there are none of them.
   */
  events?: number
  /** Determines ids, prices and everything else that is random; 0 to 2^53 - 1. */
  seed?: number
  /** Height of the first block, 1 to 10^9. */
  start?: number
  /** The chain id in every event: 1 to 64 printable ASCII characters. */
  chain?: string
}

/** Options with all defaults, whose ranges have been checked. */
type ResolvedOptions = Required<GenerateOptions>

/** An option of the generator is out of range. The message names it, and the allowed values. */
export class GenerateOptionError extends UsageError {
  override name = 'GenerateOptionError'
}

/** `points` is reduced if there are fewer markets. */
export const DEFAULTS = {
  markets: 3,
  parties: 20,
  points: 2,
  events: 5,
  seed: 1,
  start: 1,
  chain: 'lyra-generated',
} as const satisfies Omit<ResolvedOptions, 'blocks'>

/**
 * Adds the defaults and checks every range.
 *
 * @throws {GenerateOptionError} for the first option that is out of range.
 */
export function resolveOptions(options: GenerateOptions): ResolvedOptions {
  const markets = options.markets ?? DEFAULTS.markets
  const resolved = {
    ...DEFAULTS,
    ...options,
    points: options.points ?? Math.min(DEFAULTS.points, markets),
  }
  checkInteger('blocks', resolved.blocks, 1, 1_000_000_000)
  checkInteger('markets', resolved.markets, 1, 10_000)
  checkInteger('parties', resolved.parties, 0, 100_000)
  checkRange('events', resolved.events, 0, 100_000)
  checkInteger('seed', resolved.seed, 0, Number.MAX_SAFE_INTEGER)
  checkInteger('start', resolved.start, 1, 1_000_000_000)
  if (!(resolved.points >= 0 && resolved.points <= markets)) {
    throw new GenerateOptionError(
      `--points must be from 0 to the number of markets (${markets}), not ${resolved.points}: a market takes one internal point a block`,
    )
  }
  if (!/^[\x20-\x7e]{1,64}$/.test(resolved.chain)) {
    throw new GenerateOptionError('--chain must be 1 to 64 printable ASCII characters')
  }
  return resolved
}

/**
 * Checks a whole number.
 *
 * @throws {GenerateOptionError} for any other value, and outside the limits, which are both allowed.
 */
export function checkInteger(name: string, value: number, least: number, most: number): void {
  checkRange(name, value, least, most)
  if (!Number.isInteger(value))
    throw new GenerateOptionError(`--${name} must be a whole number, not ${value}`)
}

function checkRange(name: string, value: number, least: number, most: number): void {
  if (value >= least && value <= most) return
  throw new GenerateOptionError(`--${name} must be from ${least} to ${most}, not ${value}`)
}
