import { describeBlocks } from '#core/domain/height-ranges'
import { count, wordsOfName } from '#core/domain/words'
import type { IngestionReport } from '#core/ingest/report'
import { describeCutOff } from '#core/records/read-records'
import { elapsed, formatBytes } from './figures.ts'

/** The result of an ingestion, in lines for people. */
export function describeReport(report: IngestionReport): string {
  const lines = [
    `${count(report.blocks)} blocks ingested, ${count(report.records)} records seen (${formatBytes(report.bytes)}) ` +
      `in ${elapsed(report.seconds)}, ${count(Math.round(report.records / Math.max(report.seconds, 1e-3)))} events/s`,
    report.height === null ? 'The store is empty.' : `The store contains blocks up to ${report.height}.`,
  ]
  for (const [name, rows] of Object.entries(report.rows)) {
    if (rows !== 0) lines.push(`  ${wordsOfName(name)}: ${describeGain(rows)}`)
  }
  const { passedOver } = report
  const notes: [number, string][] = [
    [report.heldBlocks, 'blocks skipped, already stored'],
    [
      report.importedBlocks,
      'of these were imported, and stay so: ingest the files into a new store, then import the other blocks',
    ],
    [passedOver.beforeFirstBlock, 'events skipped before the first block'],
    [passedOver.outsideBlocks, 'events skipped between blocks'],
    [passedOver.repeated, 'duplicate events skipped'],
    [report.unfinishedBlocks, 'incomplete blocks dropped'],
    [report.sequenceBreaks, 'breaks in the record numbering'],
    [report.foreignFiles.length, 'files skipped, not named like event files'],
  ]
  for (const [number, what] of notes) if (number > 0) lines.push(`  ${count(number)} ${what}`)
  for (const [reason, number] of Object.entries(report.leftOut)) {
    lines.push(`  ${count(number)} events skipped: ${reason}`)
  }
  for (const notice of report.cutOff) lines.push(`  ${describeCutOff(notice)}`)
  if (report.pendingHeight !== null) {
    lines.push(`  block ${report.pendingHeight} is incomplete at the end of the input and was not ingested`)
  }
  return [...lines, ...describeGaps(report)].join('\n')
}

/** How many more rows a store has than before. */
export function describeGain(rows: number): string {
  return rows < 0 ? `${count(-rows)} rows fewer` : `${count(rows)} rows more`
}

/** The store's remaining gaps, in lines for people. */
export function describeGaps({ gaps }: Pick<IngestionReport, 'gaps'>): string[] {
  return gaps.map((gap) => `  gap: ${describeBlocks(gap)} ${gap.kind}`)
}
