// What the thread that forwards and its owner tell each other.

/** State of forwarding. It contains no addresses, since it is public. */
export type ForwardState = {
  /** Whether the receiver is connected, and has shaken hands. */
  connected: boolean
  /** Messages passed on since the start; those that a new connection repeats count again. */
  messages: number
  /** Height of the last block passed on; null before the first. */
  height: string | null
  /** Bytes of blocks in the log that have not been passed on yet. */
  lagBytes: number
  /** Blocks, and seconds of the chain's time, between the last block passed on and the newest one received. */
  lagBlocks: number
  lagSeconds: number
  /**
   * The first and the last block that the receiver must get from another source, or from a core restarted from a snapshot before
   * the first of them: forwarding has gone on after them, and perhaps between them. Null if none are missing.
   */
  missingBlocks: { from: string; to: string } | null
  /** How many these are, without those that were passed on. */
  missingCount: number
  /** Why nothing is forwarded; null without a fault. */
  failure: string | null
}

/** Start data of the forwarding thread. */
export type ForwardTask = {
  host: string
  port: number
  /** Folders of the event logs to read. */
  logs: string[]
  /** About how many bytes of blocks are sent again, in case the receiver has lost them. */
  repeatBytes: number
  logLevel: string
}

/** Messages to the thread that forwards. */
export type ToForwarder = { type: 'stop' }

/** Messages of the thread that forwards. */
export type FromForwarder = { type: 'state'; state: ForwardState }
