/** Rows as CSV by RFC 4180; missing values are empty. Some spreadsheets end cells at semicolons or tabs. */
export function csvOf(
  head: readonly string[],
  rows: readonly (readonly (string | null | undefined)[])[],
): string {
  const cell = (text: string | null | undefined) =>
    text == null ? '' : /[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
  return [head, ...rows].map((row) => `${row.map(cell).join(',')}\r\n`).join('')
}
