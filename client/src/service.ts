/** The answer of `GET /health`. */
export type Health = { status: 'ok' }

/** How a service passes on what its core sends to another receiver. */
export type Forwarding = {
  connected: boolean
  /** The last block passed on; null before the first. */
  height: string | null
  /** What is still to be passed on: bytes, blocks, seconds of the chain's time. */
  lagBytes: number
  lagBlocks: number
  lagSeconds: number
  /** What was deleted before it was passed on, since the start of the service. */
  droppedBytes: number
  droppedBlocks: { from: string; to: string } | null
  /** Blocks that the receiver needs from elsewhere: what is passed on begins after them. */
  missingBlocks: { from: string; to: string } | null
  /** Why nothing is passed on; null while all is well. */
  failure: string | null
}

/** The answer of `GET /ready`. */
export type Readiness =
  | { status: 'ready'; forward?: Forwarding; cluster?: string[] }
  | {
      status: 'not ready'
      forward?: Forwarding
      /** What is wrong with the cluster that the store is spread over. */
      cluster?: string[]
      /** The name of a store that holds no block yet, without folder or host. */
      store?: string
      reasons: {
        reason: 'empty store' | 'gap' | 'intake stopped' | 'store unreachable' | 'behind'
        message: string
      }[]
    }
