export { createLyraClient, type LyraClient, type Rows } from './client.ts'
export type { ConnectionOptions } from './connection.ts'
export * from './decimals.ts'
export { LyraAnswerError, LyraApiError, LyraConnectionError, type LyraErrorDetail } from './errors.ts'
export type { ExportRowsOptions } from './exports.ts'
export { type Missing, missingIn } from './missing.ts'
export type { Page, PageRow, WalkOptions } from './pages.ts'
export { carriedOver, externalBeside, type Premium, premiumsOf } from './premium.ts'
export type * from './requests.ts'
export type * from './resources.ts'
export type * from './service.ts'
export type {
  NamedStreamRow,
  SeveralStreams,
  SeveralStreamsOptions,
  StreamOptions,
  StreamRow,
} from './streams.ts'
