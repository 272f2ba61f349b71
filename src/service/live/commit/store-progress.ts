// How far the store of a committer is, whichever process writes to it.
import type { GapError } from '#core/blocks/block'
import type { Coverage } from '#core/domain/coverage'
import { holdAll } from '#core/domain/height-ranges'
import type { FollowedLog } from '#core/log/read/followed-log'
import { otherChain, StoreError, StoreUnavailableError } from '#core/store/errors'
import { readAcceptedGaps, readCoverage, readStoreHead } from '#core/store/queries/coverage'
import type { Query } from '#core/store/queries-protocol'
import { readStore } from '#core/store/read-store'
import type { Store } from '#core/store/store'
import { hasPassed } from './commit-failure.ts'
import type { LastBlock } from './needed-blocks.ts'

/** A log that is followed by its URL may be of any chain, and nothing says of which it must be. */
class NoChainError extends StoreError {
  override name = 'NoChainError'
}

type StoreProgressOptions = {
  store: Store
  logs: readonly FollowedLog[]
  /** The required chain of events; null: that of the store, or of an empty store's logs. */
  chain: string | null
  /** The store has these blocks. */
  onCoverage: (coverage: Coverage) => void
}

/** What the store has, as last seen. */
export class StoreProgress {
  readonly #options: StoreProgressOptions
  #last: LastBlock | null = null

  constructor(options: StoreProgressOptions) {
    this.#options = options
  }

  /** The store's last block; null while it has none. */
  get last(): LastBlock | null {
    return this.#last
  }

  /** Its height. */
  get height(): bigint | null {
    return this.#last?.height ?? null
  }

  /** Notes what the store has, and tells the listener. */
  note(stored: Coverage): void {
    const { height, gaps } = stored
    // The last block is not missing: in a gap, it is incomplete.
    this.#last = { height, isIncomplete: gaps.at(-1)?.to === height }
    this.#options.onCoverage(stored)
  }

  /**
   * Notes what the store has, null if it is empty, after checking that it may have the blocks of the logs.
   *
   * @throws {StoreError} for another chain than the required one, and if nothing says of which chain the logs must be.
   */
  noteChecked(stored: Coverage | null): void {
    const { chain, store, logs } = this.#options
    if (stored !== null) {
      if (chain !== null && stored.chainId !== chain) throw otherChain(store.name, chain, stored.chainId)
      this.note(stored)
      return
    }
    // The server at the URL may name any chain.
    const index = chain === null ? logs.findIndex(({ folder }) => folder === null) : -1
    if (index >= 0)
      throw new NoChainError(
        `log ${index + 1} is followed by its URL, and the store is empty: name its chain with --chain`,
      )
  }

  /** What the store has now; null if it is empty, or cannot be read at the moment. */
  async look(): Promise<Coverage | null> {
    try {
      return await readStore(this.#options.store, readCoverage)
    } catch (error) {
      return unlessStoreFault(error, null)
    }
  }

  /**
   * Whether the store has got past a gap, or an operator has accepted all of it; false if it cannot be read.
   *
   * @param before its last block when the gap was found; null if it had none
   */
  async isPassedOrAccepted(gap: GapError, before: bigint | null): Promise<boolean> {
    function* readWhether(): Query<boolean> {
      const head = yield* readStoreHead()
      if (head !== null && hasPassed(gap, BigInt(head.height), before)) return true
      return holdAll(yield* readAcceptedGaps(), gap)
    }
    try {
      return await readStore(this.#options.store, readWhether)
    } catch (error) {
      return unlessStoreFault(error, false)
    }
  }
}

/** What is taken instead, if an error says that the store cannot be read now. @throws any other error. */
function unlessStoreFault<T>(error: unknown, instead: T): T {
  if (error instanceof StoreError || error instanceof StoreUnavailableError) return instead
  throw error
}
