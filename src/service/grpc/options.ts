import type { Reader } from '#core/store/store'
import type { Answers } from '../answers/answers.ts'
import type { IngestionState, StoreHealth } from '../health/readiness.ts'
import type { Connections } from '../http/clients/connections.ts'
import type { CountRequest } from '../http/clients/rate-limit.ts'
import type { UnsentBytes } from '../http/clients/unsent-bytes.ts'
import type { KnownStoreHead } from '../http/exchange.ts'
import type { ExplainError } from '../http/explain-error.ts'
import type { Metrics } from '../metrics.ts'
import type { Account } from '../quotas.ts'

/** State that gRPC shares with REST: both give the same answers, and count clients together. */
export type GrpcOptions = {
  reader: Reader
  answers: Answers
  connections: Connections
  unsentBytes: UnsentBytes
  countRequest: CountRequest
  explainError: ExplainError
  metrics: Metrics
  ingestion: IngestionState
  /** What answers have found out about the store. */
  health: StoreHealth
  trustProxy: boolean
  account: Account
  known: KnownStoreHead
}
