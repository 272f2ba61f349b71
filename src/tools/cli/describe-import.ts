import { describeMissingResources } from '#core/domain/coverage'
import { describeBlocks } from '#core/domain/height-ranges'
import { formatTime } from '#core/domain/time'
import { count, wordsOfName } from '#core/domain/words'
import type { ImportReport } from '../import/import-report.ts'
import { describeGain, describeGaps } from './describe-report.ts'
import { elapsed } from './figures.ts'

/** The result of an import, in lines for people. */
export function describeImport(report: ImportReport): string {
  const rate = Math.round(report.rowsRead / Math.max(report.seconds, 1e-3))
  const lines = [
    `${count(report.blocks)} blocks imported, ${count(report.rowsRead)} rows read in ${elapsed(report.seconds)}, ${count(rate)} rows/s`,
    report.height === null ? 'The store is empty.' : `The store contains blocks up to ${report.height}.`,
  ]
  for (const [name, first] of Object.entries(report.first)) {
    const rows = report.rows[name]
    const parts = [
      ...(rows === undefined ? [] : [describeGain(rows)]),
      ...(first === null ? [] : [`the first of ${formatTime(BigInt(first))}`]),
    ]
    // Rows of market data and fees are not counted.
    if (parts.length > 0) lines.push(`  ${wordsOfName(name)}: ${parts.join(', ')}`)
  }
  if (report.heldBlocks > 0) lines.push(`  ${count(report.heldBlocks)} blocks skipped, already stored`)
  for (const { resource, reason } of report.notImported) lines.push(`  ${resource}: not imported, ${reason}`)
  for (const [reason, number] of Object.entries(report.leftOut)) {
    lines.push(`  ${count(number)} rows skipped: ${reason}`)
  }
  for (const range of report.imported) lines.push(`  imported: ${describeBlocks(range)}`)
  for (const [resource, text] of describeMissingResources({ since: [], imported: report.imported }))
    lines.push(`  ${resource}: ${text}`)
  return [...lines, ...describeGaps(report)].join('\n')
}
