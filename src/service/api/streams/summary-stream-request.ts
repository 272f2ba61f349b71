import { marketSummaries } from '#core/resources/market-summaries'
import type { Position } from '#core/store/pages/page'
import type { Reader } from '#core/store/store'
import { decodeSummaryId } from '../../stream/summary-events.ts'
import type { SummaryPace } from '../../stream/summary-feed.ts'
import { emptyStore, invalidPagination } from '../http/errors.ts'
import { selectionOf } from '../questions/page-request.ts'
import { PARAMETER_TYPES } from '../questions/parameter-types.ts'
import { byName, filterParametersOf, type Parameter, type ParameterValues } from '../questions/parameters.ts'
import { LAST_EVENT_ID, resumedId } from './stream-route-request.ts'

/** Default seconds between changes of a market. */
const EVERY = { ofAll: 5n, ofOne: 1n }

export const SUMMARY_STREAM_PARAMETERS: readonly Parameter[] = byName([
  LAST_EVENT_ID,
  {
    name: 'after',
    type: PARAMETER_TYPES.streamId,
    description:
      'The id of an event of such a stream: if the service remembers it, only markets that have changed since are sent first. `Last-Event-ID` and `lastEventId` take precedence.',
  },
  {
    name: 'every',
    type: PARAMETER_TYPES.seconds,
    description: `Seconds between two events of a market, at least. The default is ${EVERY.ofAll}, with \`marketId\` ${EVERY.ofOne}.`,
  },
  ...filterParametersOf(marketSummaries, 'stream'),
])

/** A checked request; `after` names a reading (summary-feed.ts). */
export type SummaryStreamRequest = { pace: SummaryPace; after: string | null; position: Position }

/**
 * Checks a request's parameters, in the order of docs/api.md's table of errors.
 *
 * @param lastIdHeader the header `Last-Event-ID`; empty if the client sends none
 *
 * @throws {ApiError} 400 if a parameter is malformed; 503 for an empty store.
 */
export async function summaryStreamRequest(
  values: ParameterValues,
  lastIdHeader: string,
  reader: Reader,
): Promise<SummaryStreamRequest> {
  const { marketId = null } = selectionOf(marketSummaries, 'stream', null, values)
  const seconds = values.get('every') as bigint | undefined
  const everyMs = 1_000 * Number(seconds ?? (marketId === null ? EVERY.ofAll : EVERY.ofOne))
  const resumed = resumedId(values, lastIdHeader)
  const after = resumed === null ? null : decodeSummaryId(marketId, resumed.id)
  if (resumed !== null && after === null)
    throw invalidPagination(`${resumed.name} is not an id of this stream; use that of one of its events`)
  const { position } = await reader.freshness(null)
  if (position === null) throw emptyStore()
  return { pace: { marketId, everyMs }, after, position }
}
