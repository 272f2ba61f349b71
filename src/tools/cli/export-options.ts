import type { TextFormatName } from '#service/export/text-formats'
import type { GivenTime } from './bound.ts'
import type { CommonOptions } from './options.ts'

export type FormatName = TextFormatName | 'parquet'

/** What `lyra export` is given. */
export type ExportCommandOptions = CommonOptions & {
  market: string | undefined
  party: string | undefined
  source: string | undefined
  seq: string | undefined
  from: GivenTime | undefined
  to: GivenTime | undefined
  after: string | undefined
  oldestFirst: boolean
  format: FormatName
  out: string | undefined
  text: boolean
  times: 'iso' | undefined
  force: boolean
}
