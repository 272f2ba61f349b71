import { formatPercent } from '../figures/format-figure.ts'

/** Separators of copied cells and lines. */
const ENDS: Record<string, string> = { TD: '\t', TH: '\t', TR: '\n', LI: '\n', DIV: '\n', P: '\n', DD: '\n' }

/** A figure as it is shown: sign, digits, and what follows. */
const FIGURE = /^([+-]?)([\d,]+(?:\.\d+)?)/

/** A copy of a selection has each rounded figure exactly: in the unit in which it is shown, without grouping. */
export function copyExactly(): void {
  document.addEventListener('copy', (event) => {
    const selection = getSelection()
    if (selection === null || selection.rangeCount === 0 || selection.isCollapsed) return
    const text = copyOf(selection.getRangeAt(0))
    if (text === null) return
    event.clipboardData?.setData('text/plain', text)
    event.preventDefault()
  })
}

/** The text of a range with exact figures; null if it has none, or only a part of a figure's digits. */
function copyOf(range: Range): string | null {
  const { commonAncestorContainer: common } = range
  const within = (common instanceof Element ? common : common.parentElement)?.closest('data')
  if (within != null) return partOf(within, range.toString())
  const content = range.cloneContents()
  if (content.querySelector('data') === null) return null
  return textOf(content)
    .replace(/\t?\n+$/, '')
    .replaceAll('\t\n', '\n')
}

/** A selected part of a figure: without its sign, if that is not selected. */
function partOf(figure: HTMLDataElement, selected: string): string | null {
  const text = selected.trim()
  const digits = FIGURE.exec(figure.textContent)?.[2]
  if (digits === undefined) return figure.textContent.trim() === text ? figure.value : null
  if (!text.includes(digits)) return null
  const exact = exactly(figure)
  return text.startsWith(digits) ? exact.replace(/^-/, '') : exact
}

/** The exact number of a figure in the unit in which it is shown: a percentage, or several, if it is one. */
function exactly({ value, textContent }: HTMLDataElement): string {
  if (!textContent.endsWith('%')) return value
  return value.split(' ').map(formatPercent).join(' · ').replaceAll(',', '')
}

function textOf(node: Node): string {
  if (node instanceof HTMLDataElement) return exactly(node)
  if (node instanceof Text) return node.data
  const inner = [...node.childNodes].map(textOf).join('')
  return inner + (node instanceof Element ? (ENDS[node.tagName] ?? '') : '')
}
