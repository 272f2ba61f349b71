/** One line of the table: a figure, the limit that it is compared with, and its target. */
export type Figure = {
  name: string
  value: number
  unit: string
  /** The machine's limit, or a peer's value, measured in the same run; null for none. */
  limit: { name: string; value: number } | null
  /** Value divided by limit. */
  ratio: number | null
  /** Target of the ratio, or of the value if there is no limit. */
  target: { least?: number; most?: number } | null
  /** What explains the figure or its target; empty for nothing. */
  note: string
}

/** Makes a figure; the ratio follows from value and limit. */
export function figure(
  name: string,
  value: number,
  unit: string,
  options: { limit?: { name: string; value: number }; target?: Figure['target']; note?: string } = {},
): Figure {
  const limit = options.limit ?? null
  return {
    name,
    value,
    unit,
    limit,
    ratio: limit === null ? null : value / limit.value,
    target: options.target ?? null,
    note: options.note ?? '',
  }
}

/** Whether a figure meets its target; null if it has none. */
export function meetsTarget({ value, ratio, target }: Figure): boolean | null {
  if (target === null) return null
  const compared = ratio ?? value
  const { least = Number.NEGATIVE_INFINITY, most = Number.POSITIVE_INFINITY } = target
  return compared >= least && compared <= most
}

const NUMBER = new Intl.NumberFormat('en', { maximumSignificantDigits: 4 })

/** The table in text, one line a figure. `against.ts` reads it by the titles of the columns, also that of earlier commits. */
export function formatFigures(figures: readonly Figure[]): string {
  const rows = figures.map((entry) => [
    entry.name,
    `${NUMBER.format(entry.value)} ${entry.unit}`,
    entry.limit === null ? '' : `${NUMBER.format(entry.limit.value)} ${entry.unit} (${entry.limit.name})`,
    entry.ratio === null ? '' : entry.ratio.toFixed(2),
    formatTarget(entry.target),
    { true: 'met', false: 'SHORT', null: '' }[String(meetsTarget(entry)) as 'true' | 'false' | 'null'],
    entry.note,
  ])
  return alignColumns([['figure', 'value', 'limit', 'ratio', 'target', '', 'note'], ...rows])
}

/** Rows of as many cells each, one a line, each column as wide as its longest cell. */
export function alignColumns(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

function formatTarget(target: Figure['target']): string {
  if (target === null) return ''
  return [
    target.least === undefined ? '' : `>= ${target.least}`,
    target.most === undefined ? '' : `<= ${target.most}`,
  ]
    .filter((part) => part !== '')
    .join(', ')
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}
