import type { Resource } from '#core/model/resource'
import { EXPORT_FORMATS, type ExportFormat } from '../formats/export-bytes.ts'
import { invalidParameter } from '../http/errors.ts'
import { exportPath } from '../http/paths.ts'
import { hasName, parseQuery, queryOf } from '../http/query-string.ts'
import type { Route } from '../http/router.ts'
import { FORMAT_PARAMETER, type ParameterValues, parameterReader } from '../questions/parameters.ts'
import { ExportAnswers, type ExportAnswersOptions } from './export-answers.ts'
import { exportParametersOf, exportQuery, fullExportParametersOf, fullExportQuery } from './export-query.ts'

/** The routes of exports, and the files that they cache. */
export type Exports = {
  /** The route of a resource's pages in which requests with a `format` get all rows in that format. */
  pagesOrExport(resource: Resource, pages: Route): Route
  /** The routes of a resource's export over all markets: its address, and one that ends in each format. */
  ofAllMarkets(resource: Resource): Route[]
  /** Releases the cached files. */
  close(): Promise<void>
}

/** Creates the routes of exports, which share the limits. */
export function createExports(options: ExportAnswersOptions): Exports {
  const answers = new ExportAnswers(options)

  return {
    pagesOrExport: (resource, pages) => {
      const readParameters = parameterReader(
        exportParametersOf(resource),
        resource.isOfReference ? 'ignored' : 'refused',
      )
      return {
        ...pages,
        answer: async (exchange) => {
          const parameters = queryOf(exchange.target)
          if (!hasName(parameters, FORMAT_PARAMETER.name)) return pages.answer(exchange)
          const values = readParameters(parseQuery(parameters))
          const query = exportQuery(resource, exchange.pathId, values)
          const format = values.get(FORMAT_PARAMETER.name) as ExportFormat
          return answers.answer({ query, format, exchange })
        },
      }
    },
    ofAllMarkets: (resource) => {
      const readParameters = parameterReader(fullExportParametersOf(resource), 'refused')
      const routeOf = (ending: ExportFormat | null): Route => ({
        path: exportPath(resource, ending),
        answer: async (exchange) => {
          const values = readParameters(parseQuery(queryOf(exchange.target)))
          const format = formatOf(values, ending)
          await answers.answer({ query: fullExportQuery(resource, values), format, exchange })
        },
      })
      return [routeOf(null), ...EXPORT_FORMATS.map(routeOf)]
    },
    close: () => answers.close(),
  }
}

/**
 * The format that an address and its parameters name.
 *
 * @throws {ApiError} 400 if they name two.
 */
function formatOf(values: ParameterValues, ending: ExportFormat | null): ExportFormat {
  const { name } = FORMAT_PARAMETER
  const parameter = values.get(name) as ExportFormat | undefined
  if (ending !== null && parameter !== undefined && parameter !== ending) {
    throw invalidParameter(
      `parsing field "format": format is "${parameter}", but the address ends in .${ending}; leave one of them out`,
    )
  }
  // `times` is checked together with the format, whether the address or a parameter names that.
  if (ending !== null) values.set(name, ending)
  return ending ?? parameter ?? 'ndjson'
}
