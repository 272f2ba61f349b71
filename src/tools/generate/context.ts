import type { BlockHead } from './clock.ts'
import type { Random } from './random.ts'
import type { RecordWriter } from './record-writer.ts'

/** What everything that writes events of a block is given. */
export type Context = {
  out: RecordWriter
  random: Random
  block: BlockHead
  /** Hash of the transaction that events are sent for, the block's own at first: upper-case hex digits. */
  transaction: Uint8Array
}

export function createContext(out: RecordWriter, random: Random, block: BlockHead): Context {
  return { out, random, block, transaction: Uint8Array.from(block.upperCaseHash) }
}

/** Events from here on are another transaction's. */
export function nextTransaction(context: Context): void {
  context.random.fillHex(context.transaction, true)
}
