import type { BlockHead } from './clock.ts'
import type { Random } from './random.ts'
import type { RecordWriter } from './record-writer.ts'

/** What a function needs to write events of a block. */
export type Context = {
  out: RecordWriter
  random: Random
  block: BlockHead
  /** The transaction hash of the next events, at first the hash of the block: upper-case hex digits. */
  transaction: Uint8Array
}

/** The context of a block's events; `out` must already have begun the block. */
export function createContext(out: RecordWriter, random: Random, block: BlockHead): Context {
  return { out, random, block, transaction: Uint8Array.from(block.upperCaseHash) }
}

/** Begins another transaction: later events belong to it. */
export function nextTransaction(context: Context): void {
  context.random.fillHex(context.transaction, true)
}
