import type { FILTERS } from '#core/resources/filters'
import type { FilterName } from '#core/resources/resource'
import type { ExportFormat } from '#service/export/export-bytes'
import type { GivenTime } from './bound.ts'
import type { CommonOptions } from './options.ts'

/** The values of filters, by their options. */
export type GivenFilters = { [Name in FilterName as (typeof FILTERS)[Name]['option']]?: string | undefined }

/** The options of `lyra export`. */
export type ExportCommandOptions = CommonOptions &
  GivenFilters & {
    from: GivenTime | undefined
    to: GivenTime | undefined
    after: string | undefined
    oldestFirst: boolean
    format: ExportFormat
    out: string | undefined
    text: boolean
    times: 'iso' | undefined
    force: boolean
  }
