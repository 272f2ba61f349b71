import { greatest } from '../domain/integers.ts'
import { sharedRuns } from '../shared-runs.ts'
import { readPosition } from './readings/coverage.ts'
import { type Reader, type Store, StoreRefusedError, StoreUnavailableError } from './store.ts'

/** How often every server is asked for its position, in milliseconds. */
const CHECK_INTERVAL_MS = 1_000

export type ReplicaOptions = {
  /** The store that is written to: it shows how far the replicas lag, and answers if none of them can. */
  primary: Store
  replicas: readonly Store[]
  /** Blocks that a replica may lag. */
  maxLag: number
  /** Whether it is opened if no server can be reached, too, and waits for the first one that can. */
  waits?: boolean
  /** Called, with one line, when a replica goes out of use or comes back. */
  onNotice: (message: string) => void
}

/** Stands for the fault of a server before it has been asked anything. */
const NOT_ASKED = 'not asked yet'

/** A server to read from. */
type Member = {
  store: Store
  reader: Reader | null
  /** The last height it named; null if it is empty or was never reached. */
  height: bigint | null
  /** Why it is not asked; null while it is. */
  fault: string | null
}

/**
 * A reader over replicas. Each answer is one snapshot of one of them, in turn. A replica that is unreachable or lags
 * too far is not used until it recovers. If none is usable, the primary answers.
 *
 * @throws {StoreError} if neither the primary nor any replica can be opened, and there is nothing to wait for.
 */
export async function openReplicaReader(options: ReplicaOptions): Promise<Reader> {
  const { maxLag, waits = false, onNotice } = options
  const member = (store: Store): Member => ({ store, reader: null, height: null, fault: NOT_ASKED })
  const primary = member(options.primary)
  const replicas = options.replicas.map(member)
  const members = [...replicas, primary]
  let turn = 0

  function stopUsing(out: Member, fault: string): void {
    if (out.fault === null || out.fault === NOT_ASKED) onNotice(`${out.store.name}: not in use, ${fault}`)
    out.fault = fault
  }

  async function check(asked: Member): Promise<unknown> {
    try {
      asked.reader ??= await asked.store.openReader({ onNotice })
      const position = await asked.reader.read(readPosition)
      asked.height = position === null ? null : BigInt(position.height)
      return null
    } catch (error) {
      stopUsing(asked, (error as Error).message)
      return error
    }
  }

  async function checkAll(): Promise<unknown[]> {
    const faults = await Promise.all(members.map(check))
    const highest = greatest(members.map(({ height }) => height ?? 0n))
    for (const [index, checked] of members.entries()) {
      if (faults[index] !== null) continue
      const lag = highest - (checked.height ?? 0n)
      if (checked !== primary && lag > BigInt(maxLag)) {
        stopUsing(checked, `it is ${lag} blocks behind`)
      } else {
        if (checked.fault !== null && checked.fault !== NOT_ASKED) {
          onNotice(`${checked.store.name}: in use again`)
        }
        checked.fault = null
      }
    }
    return faults
  }

  const able = () => replicas.filter(({ fault }) => fault === null)

  /** Replicas in turns, then the primary. */
  function candidates(): Member[] {
    const inUse = able()
    const first = inUse.length === 0 ? 0 : turn++ % inUse.length
    return [...inUse.slice(first), ...inUse.slice(0, first), primary]
  }

  /** The same, the most advanced one first, so that the reported state does not go back and forth. */
  function candidatesByHeight(): Member[] {
    return [...able().sort((a, b) => Number((b.height ?? 0n) - (a.height ?? 0n))), primary]
  }

  async function ask<T>(read: (reader: Reader) => Promise<T>, from = candidates()): Promise<T> {
    let failure: unknown = new StoreUnavailableError('no database server of the store is reachable')
    for (const asked of from) {
      if (asked.reader === null) continue
      try {
        return await read(asked.reader)
      } catch (error) {
        if (!(error instanceof StoreUnavailableError)) throw error
        stopUsing(asked, error.message)
        failure = error
      }
    }
    throw failure
  }

  const faults = await checkAll()
  const mayWait = waits && !faults.some((fault) => fault instanceof StoreRefusedError)
  if (!mayWait && faults.every((fault) => fault !== null)) throw faults.at(-1)
  // One round at a time: a server that does not answer must not gather questions.
  const checks = sharedRuns(checkAll)
  const timer = setInterval(() => void checks.current(), CHECK_INTERVAL_MS)
  timer.unref()

  return {
    page: (query) => ask((reader) => reader.page(query)),
    freshness: (since) => ask((reader) => reader.freshness(since), candidatesByHeight()),
    openSnapshot: () => ask((reader) => reader.openSnapshot()),
    read: (reading) => ask((reader) => reader.read(reading)),
    ...(options.primary.log === null ? {} : { log: options.primary.log }),
    clusterFaults: async () => (await primary.reader?.clusterFaults?.()) ?? null,
    replicas: () =>
      replicas.map(({ store, height, fault }) => ({
        name: store.name,
        height: height?.toString() ?? null,
        fault,
      })),
    close: async () => {
      clearInterval(timer)
      await checks.settled()
      await Promise.all(members.map(({ reader }) => reader?.close()))
    },
  }
}
