/**
 * Formats rows as lines with aligned columns. The first row is the head; `rightColumns` are the indexes of right-aligned
 * columns.
 */
export function table(rows: readonly (readonly string[])[], rightColumns: readonly number[] = []): string[] {
  const widths = (rows[0] ?? []).map((_, column) =>
    rows.reduce((most, row) => Math.max(most, row[column]!.length), 0),
  )
  return rows.map((row) =>
    row
      .map((cell, column) =>
        rightColumns.includes(column) ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!),
      )
      .join('  ')
      .trimEnd(),
  )
}
