import type { Logger } from 'pino'
import { moduleBeside } from '#core/concurrency/module-beside'
import type { StoreHead } from '#core/store/pages/page'
import type { ChangedSummaries } from '#core/store/queries/summaries/market-summaries'
import type { ThreadsOptions } from '../../answers/render-threads.ts'
import { ThreadCalls } from '../../answers/thread-calls.ts'
import type { LongReadAnswer, LongReadRequest, LongReadTask, SentChunk } from './long-read-messages.ts'
import type { LongReads } from './long-reads.ts'

/** Reads an embedded store in a separate thread, so that nothing else waits for it. */
export function startLongReads(
  store: string,
  logger: Logger,
  { isReadOnly = false, isLate = false }: Pick<ThreadsOptions, 'isReadOnly' | 'isLate'> = {},
): LongReads {
  let exportCount = 0
  const thread = new ThreadCalls<LongReadRequest, LongReadAnswer>({
    module: moduleBeside(import.meta.url, 'long-read-thread'),
    task: { store, isReadOnly } satisfies LongReadTask,
    logger,
    what: 'the thread that reads for streams and exports',
    isLate,
  })

  return {
    readChunk: async ({ resource, ...query }, readClass) => {
      const sent = { ...query, resource: resource.name }
      const chunk = (await thread.ask({ type: 'chunk', query: sent, readClass })) as SentChunk | null
      return chunk && { ...chunk, bytes: Buffer.from(chunk.bytes.buffer) }
    },
    readSummaries: (lastAnswer) =>
      thread.ask({ type: 'summaries', lastAnswer }) as Promise<ChangedSummaries | null>,
    openExport: async ({ resource, ...query }, format) => {
      const id = exportCount++
      const sent = { ...query, resource: resource.name }
      return {
        storeHead: (await thread.ask({ type: 'export', id, query: sent, format })) as StoreHead | null,
        next: () => thread.ask({ type: 'next', id }) as Promise<Uint8Array | null>,
        close: async () => {
          await thread.ask({ type: 'close', id }).catch(() => {})
        },
      }
    },
    shortenWal: async () => {
      await thread.ask({ type: 'shorten WAL' })
    },
    isRunning: () => thread.isRunning,
    close: () => thread.close(),
  }
}
