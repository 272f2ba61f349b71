import { setTimeout as sleep } from 'node:timers/promises'
import type { Coverage } from '#core/domain/coverage'
import { type BufferCommitter, type CommitterOptions, createBufferCommitter } from './buffer-committer.ts'
import { createBufferedEvents } from './buffered-events.ts'
import { findPinnedChain } from './pinned-chain.ts'
import { type Receiver, type ReceiverState, type ReceiverTask, startReceiver } from './receiver.ts'

/** Wait for the store's chain before the port is opened without it, milliseconds. */
const CHAIN_WAIT_MS = 300

/** The state of a live ingestion. Its `failures` begin with what keeps it from committing. */
export type LiveState = ReceiverState

export type LiveOptions = CommitterOptions &
  Omit<ReceiverTask, 'chain'> & {
    onState: (state: LiveState) => void
    onCommit: (coverage: Coverage) => void
  }

export type LiveIngestion = {
  port: number
  /**
   * Commits buffered events and new ones, until the signal is aborted.
   *
   * @throws {StoreRefusedError} if the store rejects this user.
   */
  run(): Promise<void>
}

/**
 * Listens for the core. Events are first written to the buffer on disk, by a thread that does nothing else, and committed
 * from there by this one: the core sends everything once.
 */
export async function startLiveIngestion(options: LiveOptions): Promise<LiveIngestion> {
  const { store, chain, onCommit, host, port, from, buffer, archive, forward, logLevel } = options
  const pinned = await Promise.race([
    findPinnedChain(store, chain, buffer),
    sleep(CHAIN_WAIT_MS, null, { ref: false }),
  ])
  const events = createBufferedEvents()
  let state: ReceiverState | null = null
  const report = () => {
    if (state === null) return
    const { failure } = committer
    options.onState({ ...state, failures: failure === null ? state.failures : [failure, ...state.failures] })
  }
  let receiver: Receiver | null = null
  const committer: BufferCommitter = createBufferCommitter(events, options, {
    onOpened: ({ chainId, height }) => receiver!.post({ type: 'opened', chainId, height }),
    onCommit: (coverage) => {
      const { chainId, height } = coverage
      receiver!.post({ type: 'committed', chainId, height })
      onCommit(coverage)
    },
    onRelease: (before) => receiver!.post({ type: 'release', before }),
    onChange: report,
  })
  receiver = await startReceiver(
    { host, port, from, buffer, archive, forward, chain: pinned, logLevel },
    {
      onFile: events.grown,
      onState: (given) => {
        state = given
        report()
      },
    },
  )
  const { port: opened, stop } = receiver
  return {
    port: opened,
    run: async () => {
      const refusal = await committer.run()
      await stop(committer.committedUpTo)
      report()
      if (refusal !== null) throw refusal
    },
  }
}
