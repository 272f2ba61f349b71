import { describeHeights } from '../domain/coverage.ts'
import { formatTime } from '../domain/time.ts'
import type { ImportReport } from '../import/import-report.ts'
import { describeResourceGaps } from './describe-resource-gaps.ts'

const ROW_NAMES = {
  checkpoints: 'checkpoints',
  fundingPeriodDataPoints: 'funding period data points',
  fundingPeriods: 'funding periods',
  instruments: 'instruments',
  liquidityProvisions: 'liquidity provisions',
  liquidityProviders: 'liquidity providers',
} as const

const count = (value: number) => value.toLocaleString('en')

const heights = ({ from, to }: { from: string; to: string }) => describeHeights(BigInt(from), BigInt(to))

/** What an import has done, in lines for people. */
export function describeImport(report: ImportReport): string {
  const rate = Math.round(report.rowsRead / Math.max(report.seconds, 1e-3))
  const lines = [
    `${count(report.blocks)} blocks imported, ${count(report.rowsRead)} rows read in ${report.seconds.toFixed(1)} s, ${count(rate)} rows/s`,
    report.height === null ? 'The store holds no block.' : `The store holds blocks up to ${report.height}.`,
  ]
  for (const [name, title] of Object.entries(ROW_NAMES) as [keyof typeof ROW_NAMES, string][]) {
    const first = report.first[name]
    const since = first === null ? '' : `, the first of ${formatTime(BigInt(first))}`
    lines.push(`  ${title}: ${count(report.rows[name])} rows written${since}`)
  }
  if (report.heldBlocks > 0)
    lines.push(`  ${count(report.heldBlocks)} blocks passed over that the store holds already`)
  for (const { resource, reason } of report.notImported) lines.push(`  ${resource}: not imported, ${reason}`)
  for (const [reason, number] of Object.entries(report.leftOut)) {
    lines.push(`  ${count(number)} rows left out: ${reason}`)
  }
  for (const range of report.imported) lines.push(`  imported: ${heights(range)}`)
  for (const gap of report.gaps) lines.push(`  gap: ${heights(gap)} ${gap.kind}`)
  for (const [resource, text] of describeResourceGaps(report.resourceGaps))
    lines.push(`  ${resource}: ${text}`)
  return lines.join('\n')
}
