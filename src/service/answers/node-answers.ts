import type { StoreHead } from '#core/store/pages/page'
import type { Reader } from '#core/store/store'
import { emptyStore } from '../http/errors.ts'
import { commit, PROGRAM_VERSION } from '../version.ts'

/** An answer, and the last block if that is known. */
type NodeAnswer = { message: object; storeHead: StoreHead | null }

/** A data node's information about itself, over REST and gRPC. */
export type NodeAnswers = {
  ping(): Promise<NodeAnswer>
  /** The program: `version`, and `commitHash`, which is empty if it is not known. */
  info(): Promise<NodeAnswer>
  /** The time of the last block, Unix nanoseconds. Rejects with `ApiError` (http/errors.ts) 503 while the store is empty. */
  vegaTime(): Promise<NodeAnswer>
}

/** Answers from a reader that stays its owner's to close. */
export function createNodeAnswers(reader: Reader): NodeAnswers {
  const lastStoreHead = async () => (await reader.freshness(null)).storeHead
  const withStoreHead = async (message: object) => ({
    message,
    storeHead: await lastStoreHead().catch(() => null),
  })
  const infoOf = () => ({ version: PROGRAM_VERSION, commitHash: commit() ?? '' })
  let info: object | null = null
  return {
    ping: () => withStoreHead({}),
    info: () => {
      info ??= infoOf()
      return withStoreHead(info)
    },
    vegaTime: async () => {
      const storeHead = await lastStoreHead()
      if (storeHead === null) throw emptyStore()
      return { message: { timestamp: storeHead.timestamp }, storeHead }
    },
  }
}
