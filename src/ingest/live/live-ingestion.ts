import type { Coverage } from '../../domain/coverage.ts'
import type { ForwardSettings, ForwardState } from '../forward/forward-state.ts'
import { startForwarding } from '../forward/start-forwarding.ts'
import { createAllowList } from './allow-list.ts'
import { BufferCommitter, type CommitterOptions } from './buffer-committer.ts'
import { EventBuffer } from './event-buffer.ts'
import { Intake } from './intake.ts'
import type { ConnectionFault } from './pair-socket.ts'
import { findPinnedChain } from './pinned-chain.ts'
import { repairLastFile } from './repair.ts'

/** A buffer file is followed by another one at this size. */
const MAX_FILE_BYTES = 64 * 1024 * 1024

/** The state of a live ingestion. */
export type LiveState = {
  /** The core that is connected; null if none is. */
  peer: string | null
  /** Events received since the start. */
  received: number
  /** Bytes in the buffer that are not committed. */
  bufferedBytes: number
  /** What keeps the ingestion from committing; null while nothing does. */
  failure: string | null
  /** Connections closed by the service since the start, by reason. */
  faults: Partial<Record<ConnectionFault, number>>
  /** How the forwarding stands; null if nothing is forwarded. */
  forward: ForwardState | null
}

export type LiveOptions = CommitterOptions & {
  host: string
  port: number
  /** Addresses and networks that may dial in; none: all may. */
  from: readonly string[]
  /** Folder of the buffer. */
  buffer: string
  /** Folder that takes buffer files once they are committed; null: they are removed. */
  archive: string | null
  /** Receiver of forwarded events; null: none. */
  forward: ForwardSettings | null
  logLevel: string
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
 * Listens for the core. Events are first written to the buffer on disk, and committed from there: the core sends
 * everything once.
 */
export async function startLiveIngestion(options: LiveOptions): Promise<LiveIngestion> {
  const { store, chain, log, signal, onCommit } = options
  const forwarding =
    options.forward === null
      ? null
      : startForwarding(options.forward, { buffer: options.buffer, logLevel: options.logLevel, log })
  const buffer = new EventBuffer({
    folder: options.buffer,
    archive: options.archive,
    maxFileBytes: Math.min(MAX_FILE_BYTES, (options.forward?.limitBytes ?? Number.POSITIVE_INFINITY) / 16),
    onNotice: (message) => log.error(message),
    follower: forwarding?.follower ?? null,
  })
  const pinnedChain = await findPinnedChain(store, chain, buffer.paths)
  const intake = new Intake({ buffer, chain: pinnedChain, log, onChange: report })
  const committer = new BufferCommitter(buffer, options, {
    onChain: (id) => intake.pinChain(id),
    onCommit: (coverage) => {
      intake.committed(coverage)
      onCommit(coverage)
    },
    onChange: report,
  })

  function report(): void {
    const { peer, received, faults } = intake
    options.onState({
      ...{ peer, received, faults },
      bufferedBytes: buffer.bytes,
      failure: committer.failure ?? intake.failure,
      forward: forwarding?.state() ?? null,
    })
  }

  const last = buffer.paths.at(-1)
  const cut = last === undefined ? null : await repairLastFile(last)
  if (cut !== null) {
    log.warn(`${last}: removed ${cut.bytes} bytes after the last complete event; they are in ${cut.keptIn}`)
  }
  buffer.refresh()
  const { host } = options
  const port = await intake.listen({ host, port: options.port, allowed: createAllowList(options.from) })
  const timer = setInterval(() => {
    intake.logFaults()
    report()
  }, 1_000)
  signal.addEventListener('abort', () => clearInterval(timer), { once: true })
  forwarding?.start()

  async function run(): Promise<void> {
    const refusal = await committer.run()
    await intake.close()
    await buffer.close()
    if (committer.committedUpTo !== null) buffer.release(committer.committedUpTo)
    await forwarding?.stop()
    clearInterval(timer)
    report()
    if (refusal !== null) throw refusal
  }

  return { port, run }
}
