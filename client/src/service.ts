/** The answer of `GET /health`. */
export type Health = { status: 'ok' }

/** State of live ingestion. */
export type LiveIngestion = {
  coreConnected: boolean
  /** Since the start of the service. */
  eventsReceived: number
  /** Of received events that are not yet committed. */
  bufferBytes: number
  /** Whether a fault prevents received events from being committed. */
  stopped: boolean
  /** Connections closed by the service since its start, by reason. */
  connectionFaults: { reason: string; count: number }[]
}

/** State of forwarding a core's events to another receiver. */
export type Forwarding = {
  connected: boolean
  /** The last block passed on; null before the first. */
  height: string | null
  /** Not yet forwarded: bytes, blocks, seconds of block time. */
  lagBytes: number
  lagBlocks: number
  lagSeconds: number
  /** Deleted before it was forwarded, since the start of the service. */
  droppedBytes: number
  droppedBlocks: { from: string; to: string } | null
  /** Blocks that the receiver must get from another source: forwarding begins after them. */
  missingBlocks: { from: string; to: string } | null
  /** Why nothing is forwarded; null without a fault. */
  failure: string | null
}

/** The answer of `GET /ready`. */
export type Readiness =
  | { status: 'ready'; live?: LiveIngestion; forward?: Forwarding; cluster?: string[] }
  | {
      status: 'not ready'
      /** Only if the service waits for a core. */
      live?: LiveIngestion
      forward?: Forwarding
      /** Faults of the cluster that the store is distributed over. */
      cluster?: string[]
      /** The name of an empty store, without folder or host. */
      store?: string
      reasons: {
        reason: 'empty store' | 'intake stopped' | 'thread stopped' | 'store unreachable' | 'behind'
        message: string
      }[]
    }
