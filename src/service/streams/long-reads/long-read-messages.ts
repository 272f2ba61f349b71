import type { ResourceName } from '#core/model/resource'
import type { StoreHead } from '#core/store/pages/page'
import type { ChangedSummaries } from '#core/store/queries/summaries/market-summaries'
import type { UnseenQuery } from '#core/store/queries/unseen/unseen-rows'
import type { ExportFormat } from '../../formats/export-bytes.ts'
import type { ExportQuery } from '../../formats/export-rows.ts'
import type { Chunk } from './chunk.ts'
import type { ReadClass } from './read-queue.ts'

/** Start data of the thread. */
export type LongReadTask = { store: string; isReadOnly: boolean }

/** Requests to the thread. */
export type LongReadRequest =
  | { type: 'chunk'; query: SentQuery<UnseenQuery>; readClass: ReadClass }
  | { type: 'summaries'; lastAnswer: string | null }
  | { type: 'export'; id: number; query: SentQuery<ExportQuery>; format: ExportFormat }
  | { type: 'next'; id: number }
  | { type: 'close'; id: number }
  | { type: 'shorten WAL' }

/** A query as it is sent to the thread: with the name of its resource. */
type SentQuery<Query> = Omit<Query, 'resource'> & { resource: ResourceName }

/** The thread's answers: a stream's next events, summaries, an export's store head, its next bytes; null for the others. */
export type LongReadAnswer = SentChunk | ChangedSummaries | StoreHead | Uint8Array | null

export type SentChunk = Omit<Chunk, 'bytes'> & { bytes: Uint8Array }
