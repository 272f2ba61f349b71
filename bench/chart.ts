import { type Figure, meetsTarget } from './figures.ts'

const WIDTH = 860
const ROW = 26
const LABELS = 380
const BARS = 360

/** The figures that have a target, as bars of how near they come to it: an SVG that stands on any background. */
export function chartOf(figures: readonly Figure[]): string {
  const shown = figures.filter(({ target }) => target !== null)
  const rows = shown.map((entry, index) => {
    const reached = reachedOf(entry)
    const y = 44 + index * ROW
    const width = Math.min(1.25, reached) * (BARS / 1.25)
    const color = meetsTarget(entry) === true ? '#2e7d5b' : '#b3562b'
    return `<text x="${LABELS - 8}" y="${y + 13}" text-anchor="end">${escaped(entry.name)}</text>
<rect x="${LABELS}" y="${y}" width="${width.toFixed(1)}" height="17" rx="2" fill="${color}"/>
<text x="${LABELS + BARS + 10}" y="${y + 13}">${labelOf(entry)}</text>`
  })
  const goal = LABELS + BARS / 1.25
  const height = 60 + shown.length * ROW
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="Figures of the benchmark beside their targets" font-family="system-ui, sans-serif" font-size="12">
<rect width="100%" height="100%" fill="#ffffff"/>
<g fill="#1c2430">
<text x="${goal}" y="20" text-anchor="middle" font-weight="600">target</text>
<line x1="${goal}" y1="28" x2="${goal}" y2="${height - 12}" stroke="#1c2430" stroke-dasharray="3 3"/>
${rows.join('\n')}
</g>
</svg>
`
}

/** How much of the target is reached: 1 is just so, more is better. */
function reachedOf({ value, ratio, target }: Figure): number {
  const held = ratio ?? value
  if (target?.least !== undefined) return held / target.least
  return target!.most! / held
}

function labelOf({ value, ratio, unit, target }: Figure): string {
  const held = ratio === null ? `${format(value)} ${unit}` : format(ratio)
  return escaped(
    target!.least === undefined ? `${held} (≤ ${format(target!.most!)})` : `${held} (≥ ${target!.least})`,
  )
}

function format(value: number): string {
  return new Intl.NumberFormat('en', { maximumSignificantDigits: 3 }).format(value)
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
