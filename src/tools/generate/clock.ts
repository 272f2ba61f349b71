import { SECOND } from '#core/domain/time'
import { HEX_LENGTH, type Random } from './random.ts'

/** 2024-01-01T00:00:00Z, the time of a block of height 1. */
export const FIRST_SECOND = 1_704_067_200

/** A block's place in the chain. */
export type BlockHead = {
  height: number
  /** The block's time, cut to the second, in Unix seconds. */
  second: number
  /** The block's time in Unix nanoseconds. */
  time: bigint
  /** Hex digits, as `BusEvent.block` has them. */
  upperCaseHash: Uint8Array
  /** Hex digits, as `BeginBlock.hash` has them. */
  lowerCaseHash: Uint8Array
}

/** Gives the block at the clock's height; the next call gives the one after. */
type Clock = { next(): BlockHead; again(): BlockHead }

/**
 * Creates the clock of a chain, whose block `start` is later than `startSecond` (Unix seconds) by 1 to 2.15 s.
 * Blocks are 1 to 1.15 s apart, so no two have the same second and a market takes an internal point in every one.
 */
export function createClock(start: number, random: Random, startSecond: number): Clock {
  let height = start - 1
  let second = startSecond
  let nanosecond = random.below(1_000_000_000)

  function block(): BlockHead {
    const lowerCaseHash = Buffer.alloc(HEX_LENGTH)
    random.fillHex(lowerCaseHash)
    return {
      height,
      second,
      time: fromSeconds(second) + BigInt(nanosecond),
      upperCaseHash: Buffer.from(lowerCaseHash.toString('latin1').toUpperCase(), 'latin1'),
      lowerCaseHash,
    }
  }

  function next(): BlockHead {
    height++
    nanosecond += random.below(150_000_000)
    second += 1
    if (nanosecond >= 1_000_000_000) {
      nanosecond -= 1_000_000_000
      second += 1
    }
    return block()
  }

  return { next, again: block }
}

/** Seconds as the nanoseconds that events hold. */
export function fromSeconds(seconds: number): bigint {
  return BigInt(seconds) * SECOND
}
