/** Names of the price chart's lines, which may be hidden. */
export const LINE_NAMES = {
  'external-price': 'External price',
  'external-twap': 'External TWAP',
  'internal-price': 'Internal price',
  'internal-twap': 'Internal TWAP',
} as const

export type Line = keyof typeof LINE_NAMES

export const LINES = Object.keys(LINE_NAMES) as Line[]

/** How a line is drawn: distinguishable without colours. */
export const LINE_STYLES: Record<Line, { width: number; dash: number[] }> = {
  'external-price': { width: 1, dash: [] },
  'external-twap': { width: 2.25, dash: [] },
  'internal-price': { width: 1, dash: [2, 2] },
  'internal-twap': { width: 2.25, dash: [7, 3] },
}
