import type { FILTERS } from '#core/resources/filters'
import type { FilterName } from '#core/resources/resource'
import type { TextFormatName } from '#service/export/text-formats'
import type { GivenTime } from './bound.ts'
import type { CommonOptions } from './options.ts'

export type FormatName = TextFormatName | 'parquet'

/** The values of filters, by their options. */
export type GivenFilters = { [Name in FilterName as (typeof FILTERS)[Name]['option']]?: string | undefined }

/** What `lyra export` is given. */
export type ExportCommandOptions = CommonOptions &
  GivenFilters & {
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
