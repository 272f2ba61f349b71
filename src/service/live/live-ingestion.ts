import { setTimeout as sleep } from 'node:timers/promises'
import type { Coverage } from '#core/domain/coverage'
import { type BufferCommitter, type CommitterOptions, createBufferCommitter } from './buffer-committer.ts'
import { createBufferedEvents } from './buffered-events.ts'
import { findPinnedChain } from './pinned-chain.ts'
import { type Receiver, type ReceiverState, type ReceiverTask, startReceiver } from './receiver.ts'

/** Wait for the store's chain before the port is opened without it, milliseconds. */
const CHAIN_WAIT_MS = 300

/** How often the store is asked whether another process is its writer, milliseconds. */
const WRITER_LOOK_MS = 1_000

/** The state of a live ingestion. Its `failures` begin with what keeps it from committing. */
export type LiveState = ReceiverState & {
  /** Since when another process has been the store's writer, Unix milliseconds; null if none is. */
  otherWriterSince: number | null
}

export type LiveOptions = CommitterOptions &
  Omit<ReceiverTask, 'chain'> & {
    onState: (state: LiveState) => void
    onStandby?: (isStandby: boolean) => void
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
    const failures = failure === null ? state.failures : [failure, ...state.failures]
    options.onState({ ...state, failures, otherWriterSince })
  }
  let otherWriterSince: number | null = null
  /** Whether another process is the writer is asked, not tried: who waits for the lock would get it. */
  const lookForWriter = async () => {
    const isStandby = !committer.isWriter && (await store.hasWriter().catch(() => otherWriterSince !== null))
    // It may have become the writer meanwhile.
    const since = isStandby && !committer.isWriter ? (otherWriterSince ?? Date.now()) : null
    if ((since === null) === (otherWriterSince === null)) return
    otherWriterSince = since
    options.onStandby?.(since !== null)
    report()
  }
  let receiver: Receiver | null = null
  const committer: BufferCommitter = createBufferCommitter(events, options, {
    isCoreConnected: () => state !== null && state.peer !== null,
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
      const looking = new AbortController()
      const watch = keepLooking(lookForWriter, looking.signal)
      const refusal = await committer.run().finally(() => looking.abort())
      await watch
      await stop(committer.committedUpTo)
      report()
      if (refusal !== null) throw refusal
    },
  }
}

/** Looks again and again, with a wait in between, until the signal is aborted. */
async function keepLooking(look: () => Promise<void>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await look()
    await sleep(WRITER_LOOK_MS, undefined, { signal }).catch(() => {})
  }
}
