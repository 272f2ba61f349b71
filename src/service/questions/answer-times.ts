import { fundingEstimate } from '#core/resources/funding-estimates'
import { timeNamesOf } from '../formats/iso-times.ts'
import type { Question } from './question.ts'

/** The names of the fields that are times in the reports that give them as dates, by the report's operation. */
const TIMES_OF_REPORTS: Readonly<Record<string, Iterable<string>>> = {
  getFundingPeriodDataPointSeries: ['from', 'to', 'start'],
  getFundingRates: ['start'],
  getFundingEstimateHistory: ['timestamp', 'start', 'end'],
  getFundingEstimate: timeNamesOf(fundingEstimate.fields),
  getPartyFunding: ['start', 'end'],
  getPartyStatement: ['start', 'end'],
  getPositionFunding: ['firstEnd', 'lastEnd', 'completeFrom', 'end'],
}

/** The names of the fields of an answer that are times, wherever they are in it. */
export function timeNamesOfAnswer(description: Question['description']): ReadonlySet<string> {
  if ('operationId' in description) return new Set(TIMES_OF_REPORTS[description.operationId] ?? [])
  return timeNamesOf(description.list.fields)
}
