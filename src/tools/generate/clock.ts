import { SECOND } from '#core/domain/time'
import { HEX_LENGTH, type Random } from './random.ts'

/** 2024-01-01T00:00:00Z, the time of a block of height 1. */
export const FIRST_SECOND = 1_704_067_200

/** The position of a block in the chain. */
export type BlockHead = {
  height: number
  /** The block's time in Unix seconds, rounded down. */
  second: number
  /** The block's time in Unix nanoseconds. */
  time: bigint
  /** Hex digits, as in `BusEvent.block`. */
  upperCaseHash: Uint8Array
  /** Hex digits, as in `BeginBlock.hash`. */
  lowerCaseHash: Uint8Array
}

/** `next` moves on to the next block; `again` returns a block with the same height and time, but another hash. */
export type Clock = { next(): BlockHead; again(): BlockHead }

/**
 * Creates the clock of a chain whose block `start` is 1 to 2.15 s after `startSecond` (Unix seconds). Blocks are 1 to 1.15
 * s apart. Therefore no two are in the same second, and a market can take an internal point in every block.
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

/** Unix seconds in nanoseconds, as in events. */
export function fromSeconds(seconds: number): bigint {
  return BigInt(seconds) * SECOND
}
