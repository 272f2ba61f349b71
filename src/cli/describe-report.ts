import { describeHeights } from '../domain/coverage.ts'
import type { IngestionReport } from '../ingest/report.ts'
import { describeCutOff } from '../records/read-records.ts'
import { wordsOfName } from '../resources/resource.ts'
import { describeResourceGaps } from './describe-resource-gaps.ts'
import { count, elapsed, formatBytes } from './figures.ts'

/** What an ingestion has done, in lines for people. */
export function describeReport(report: IngestionReport): string {
  const lines = [
    `${count(report.blocks)} blocks ingested, ${count(report.records)} records seen (${formatBytes(report.bytes)}) ` +
      `in ${elapsed(report.seconds)}, ${count(Math.round(report.records / Math.max(report.seconds, 1e-3)))} events/s`,
    report.height === null ? 'The store holds no block.' : `The store holds blocks up to ${report.height}.`,
  ]
  for (const [name, rows] of Object.entries(report.rows)) {
    lines.push(`  ${wordsOfName(name)}: ${count(rows)} rows written`)
  }
  const { passedOver } = report
  const notes: [number, string][] = [
    [report.heldBlocks, 'blocks passed over that the store holds already'],
    [report.completedBlocks, 'of them given events that they lacked, of resources that are kept by now'],
    [report.replacedBlocks, 'of the blocks ingested in place of imported ones'],
    [passedOver.beforeFirstBlock, 'events passed over before the first block'],
    [passedOver.outsideBlocks, 'events left out between blocks'],
    [passedOver.repeated, 'events passed over that came again'],
    [report.unfinishedBlocks, 'blocks dropped that do not end'],
    [report.sequenceBreaks, 'sequence numbers that do not follow on'],
    [report.foreignFiles.length, 'files ignored whose names are not those of event files'],
  ]
  for (const [number, what] of notes) if (number > 0) lines.push(`  ${count(number)} ${what}`)
  for (const [reason, number] of Object.entries(report.leftOut)) {
    lines.push(`  ${count(number)} events left out: ${reason}`)
  }
  for (const notice of report.cutOff) lines.push(`  ${describeCutOff(notice)}`)
  if (report.pendingHeight !== null) {
    lines.push(`  block ${report.pendingHeight} is not whole at the end of the input, and so is not ingested`)
  }
  return [...lines, ...describeLacks(report)].join('\n')
}

/** What a store lacks afterwards, in lines for people. */
export function describeLacks({
  gaps,
  resourceGaps,
}: Pick<IngestionReport, 'gaps' | 'resourceGaps'>): string[] {
  return [
    ...gaps.map((gap) => `  gap: ${describeHeights(gap)} ${gap.kind}`),
    ...describeResourceGaps(resourceGaps).map(([resource, text]) => `  ${resource}: ${text}`),
  ]
}
