import { formatPercent } from '../figures/format-figure.ts'

/** A figure as it is shown: sign, digits, and what follows. */
const FIGURE = /^([+-]?)([\d,]+(?:\.\d+)?)/

/**
 * A copy of a selection has what is shown, but each rounded figure exactly: in the unit in which it is shown, without grouping.
 * Cells are separated by tabs, and rows and blocks by line ends.
 */
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

/** The text of a range with exact figures; null if it has neither figures nor cells, or only a part of a figure's digits. */
function copyOf(range: Range): string | null {
  const { commonAncestorContainer: common } = range
  const within = (common instanceof Element ? common : common.parentElement)?.closest('data')
  if (within != null) return partOf(within, range.toString())
  if (range.cloneContents().querySelector('data, td, th') === null) return null
  return textOf(common, range)
    .replace(/\t?\n[\n ]*/g, '\n')
    .replace(/^[\n ]+|[\n ]+$/g, '')
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

/** What a range shows of a node. */
function textOf(node: Node, range: Range): string {
  if (!range.intersectsNode(node)) return ''
  if (node instanceof Text) return selectedOf(node, range)
  const display = node instanceof Element ? getComputedStyle(node).display : 'inline'
  if (display === 'none' || node instanceof HTMLSelectElement) return ''
  const text = [...node.childNodes].map((child) => textOf(child, range)).join('')
  if (node instanceof HTMLDataElement) return text === '' ? '' : exactly(node)
  // On a phone cells and rows are displayed as blocks: they are copied as a table all the same.
  if (node instanceof HTMLTableCellElement) return `${text.replace(/\s+/g, ' ').trim()}\t`
  if (node instanceof HTMLTableRowElement) return `${text}\n`
  return /^(?:inline|contents|ruby)/.test(display) ? text : `\n${text}\n`
}

function selectedOf(text: Text, { startContainer, startOffset, endContainer, endOffset }: Range): string {
  return text.data.slice(
    text === startContainer ? startOffset : 0,
    text === endContainer ? endOffset : text.data.length,
  )
}
