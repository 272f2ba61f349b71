/** Separators of copied cells and lines. */
const ENDS: Record<string, string> = { TD: '\t', TH: '\t', TR: '\n', LI: '\n', DIV: '\n', P: '\n', DD: '\n' }

/** A copy of a selection has the exact number of each figure that is shown rounded or with decimals. */
export function copyExactly(): void {
  document.addEventListener('copy', (event) => {
    const selection = getSelection()
    if (selection === null || selection.rangeCount === 0 || selection.isCollapsed) return
    const range = selection.getRangeAt(0)
    const { commonAncestorContainer: common } = range
    const within = (common instanceof Element ? common : common.parentElement)?.closest('data')
    const text = within == null ? textOf(range.cloneContents()) : within.value
    if (within == null && range.cloneContents().querySelector('data') === null) return
    event.clipboardData?.setData('text/plain', text.replace(/\t?\n+$/, '').replaceAll('\t\n', '\n'))
    event.preventDefault()
  })
}

function textOf(node: Node): string {
  if (node instanceof HTMLDataElement) return node.value
  if (node instanceof Text) return node.data
  const inner = [...node.childNodes].map(textOf).join('')
  return inner + (node instanceof Element ? (ENDS[node.tagName] ?? '') : '')
}
