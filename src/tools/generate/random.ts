const HEX_LOWER = Buffer.from('0123456789abcdef', 'latin1')
const HEX_UPPER = Buffer.from('0123456789ABCDEF', 'latin1')

/** Length of a hash or an id in the stream: 32 bytes as hex. */
export const HEX_LENGTH = 64

/** A source of random numbers that returns the same ones for the same seed on every machine. Not for secrets. */
export type Random = {
  /** A whole number from 0 to `limit` - 1; `limit` at most 2^32. */
  below(limit: number): number
  /** A whole number from `least` to `most`, both included. */
  between(least: number, most: number): number
  /** True once in `times` on average. */
  onceIn(times: number): boolean
  /** This many random decimal digits; `count` must be a multiple of 8. */
  digits(count: number): string
  /** A fraction from 0 to 1 with up to 16 decimals, often exactly 0 or 1. */
  fraction(): string
  /** Fills 64 bytes with random hex digits. */
  fillHex(target: Uint8Array, upperCase?: boolean): void
  /** 64 random hex digits, lower case. */
  hex(): string
}

/**
 * Names of independent sequences of random numbers. A part of a stream with its own sequence does not affect the others.
 */
const SEQUENCES = ['main', 'data sources', 'losses', 'orders', 'large blocks'] as const

/**
 * Creates the generator "sfc32" (Chris Doty-Humphrey's PractRand), seeded with a whole number below 2^53 and the name
 * of the sequence.
 */
export function createRandom(seed: number, sequence: (typeof SEQUENCES)[number] = 'main'): Random {
  let a = seed | 0
  let b = Math.floor(seed / 0x1_0000_0000) | 0
  let c = (0x9e3779b9 + SEQUENCES.indexOf(sequence)) | 0
  let counter = 1

  function next(): number {
    const sum = (((a + b) | 0) + counter) | 0
    counter = (counter + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = (((c << 21) | (c >>> 11)) + sum) | 0
    return sum >>> 0
  }
  // The first numbers still show how close two seeds are.
  for (let i = 0; i < 16; i++) next()

  const below = (limit: number): number => Math.floor((next() / 0x1_0000_0000) * limit)

  function fillHex(target: Uint8Array, upperCase = false): void {
    const digits = upperCase ? HEX_UPPER : HEX_LOWER
    for (let at = 0; at < HEX_LENGTH; at += 8) {
      const word = next()
      for (let i = 0; i < 8; i++) target[at + i] = digits[(word >>> (4 * i)) & 15]!
    }
  }

  const digits = (count: number): string =>
    count === 0 ? '' : String(below(100_000_000)).padStart(8, '0') + digits(count - 8)

  function fraction(): string {
    const choice = below(4)
    return choice < 2 ? String(choice) : `0.${digits(16)}`
  }

  const scratch = Buffer.alloc(HEX_LENGTH)
  return {
    below,
    between: (least, most) => least + below(most - least + 1),
    onceIn: (times) => below(times) === 0,
    digits,
    fraction,
    fillHex,
    hex() {
      fillHex(scratch)
      return scratch.toString('latin1')
    },
  }
}
