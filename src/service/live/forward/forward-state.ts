/** Where events are passed on to, and how much disk that may take. */
export type ForwardSettings = {
  host: string
  port: number
  /** Bytes of events that are kept on disk for the receiver, at most. */
  limitBytes: number
}

/** State of forwarding. It contains no addresses, since it is public. */
export type ForwardState = {
  /** Whether the receiver is connected, and has shaken hands. */
  connected: boolean
  /** Messages passed on since the start; those that a new connection repeats count again. */
  messages: number
  /** Height of the last block passed on; null before the first. */
  height: string | null
  /** Bytes of events on disk that have not been passed on yet. */
  lagBytes: number
  /** Blocks, and seconds of the chain's time, between the last block passed on and the newest one received. */
  lagBlocks: number
  lagSeconds: number
  /** Bytes of events that were deleted before they could be passed on, since the start. */
  droppedBytes: number
  /** The blocks that were deleted; null if none were. */
  droppedBlocks: { from: string; to: string } | null
  /**
   * The blocks that the receiver must get from another source, or from a core restarted from a snapshot before the
   * first of them: forwarding begins after them. Null if none are missing.
   */
  missingBlocks: { from: string; to: string } | null
  /** Why nothing is forwarded; null without a fault. */
  failure: string | null
}

/** Messages to the thread that forwards. */
export type ToForwarder =
  /** Readable bytes of a file; the first message about a file announces it. */
  | { type: 'grown'; number: number; safeBytes: number }
  /** A file was deleted to make room. */
  | { type: 'dropped'; number: number; bytes: number; reason: string }
  /** The announcement of a protocol upgrade that the receiver has not answered yet; null if there is none. */
  | { type: 'upgrade'; upgrade: ForwardedUpgrade | null }
  /** All files that an earlier process has left have been named. */
  | { type: 'start' }
  | { type: 'stop' }

/** The last block before a protocol upgrade, and the event that announces it. */
export type ForwardedUpgrade = { height: bigint; event: Uint8Array }

/** Messages of the thread that forwards. */
export type FromForwarder =
  | { type: 'state'; state: ForwardState }
  /** The receiver is ready for a protocol upgrade after the block of this height: its answer. */
  | { type: 'ready'; height: bigint; answer: Uint8Array }

/** Start data of the forwarding thread. */
export type ForwardTask = ForwardSettings & { folder: string; logLevel: string }

export function noForwardState(): ForwardState {
  return {
    connected: false,
    messages: 0,
    height: null,
    lagBytes: 0,
    lagBlocks: 0,
    lagSeconds: 0,
    droppedBytes: 0,
    droppedBlocks: null,
    missingBlocks: null,
    failure: null,
  }
}
