import type { FILTERS } from '#core/model/filters'
import type { FilterName } from '#core/model/resource'
import { type ExportFormat, FORMATS_OF_TIMES } from '#service/formats/export-bytes'
import type { TimesForm } from '#service/formats/export-rows'
import type { GivenTime } from './bound.ts'
import { type CommonOptions, InvalidSettingError } from './options.ts'

/** The values of filters, by option. */
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
    times: TimesForm | undefined
    force: boolean
  }

/**
 * Refuses a form of times that a format does not have.
 *
 * @throws {InvalidSettingError}
 */
export function refuseTimes(times: TimesForm | undefined, format: ExportFormat): void {
  if (times === undefined || FORMATS_OF_TIMES[times].includes(format)) return
  const formats = FORMATS_OF_TIMES[times].join(' or ')
  throw new InvalidSettingError(
    `--times ${times} requires ${formats}; the format is ${format}: add --format ${FORMATS_OF_TIMES[times][0]}`,
  )
}
