import type { LiquidityProviderEpoch } from 'lyra-client'
import { useState } from 'preact/hooks'
import { approximate, parseDecimal } from '../figures/decimal.ts'
import { formatPercent, groupDigits } from '../figures/format-figure.ts'
import { showPart } from './columns.ts'
import { isBelow } from './provider-figure.tsx'

/** Epochs without a row between two others are left free, unless they are more than this. */
const MOST_FREE = 400

type Lane = {
  name: string
  read: (row: LiquidityProviderEpoch) => string | null
  /** Value at the lane's full height, as a fraction; default: the greatest value. */
  full?: number
}

const LANES: readonly Lane[] = [
  { name: 'Time on book', read: ({ timeOnBook }) => timeOnBook, full: 1 },
  { name: 'Fee penalty', read: ({ feePenalty }) => feePenalty, full: 1 },
  { name: 'Bond penalty', read: ({ bondPenalty }) => bondPenalty },
  { name: 'Equity-like share', read: ({ equityLikeShare }) => equityLikeShare },
]

export type EpochsChartProps = {
  /** Oldest first. */
  rows: readonly LiquidityProviderEpoch[]
  /** The least time on book that the market asks for; null if it asks for none. */
  least: string | null
}

/** How a provider did in each epoch: a lane for each figure, a column for each epoch; read by mouse, touch and keys. */
export function EpochsChart({ rows, least }: EpochsChartProps) {
  const [chosen, setChosen] = useState<string | null>(null)
  const index = rows.findIndex(({ epoch }) => epoch === chosen)
  const move = (next: number) => setChosen(rows[Math.min(rows.length - 1, Math.max(0, next))]!.epoch)
  const onKeyDown = (event: KeyboardEvent) => {
    const last = rows.length - 1
    const keys: Record<string, () => void> = {
      ArrowLeft: () => move(index === -1 ? last : index - 1),
      ArrowRight: () => move(index === -1 ? 0 : index + 1),
      Home: () => move(0),
      End: () => move(last),
      Escape: () => setChosen(null),
    }
    const act = keys[event.key]
    if (act === undefined || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    act()
  }
  const columns = withFree(rows)
  const shown = rows[index] ?? rows.at(-1)!
  return (
    <div
      class="epochs"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: it is read by keys.
      tabIndex={0}
      role="application"
      aria-roledescription="chart"
      aria-label="Epochs of the provider, from left to right. Left and right arrows move from epoch to epoch; the table below has the same figures."
      onKeyDown={onKeyDown}
      onPointerLeave={() => setChosen(null)}
    >
      <p class="epochs-said" aria-live="polite">
        {describe(shown, least)}
      </p>
      {LANES.map(({ name, read, full }) => {
        const values = rows.map((row) => partOf(read(row)))
        const isBook = name === 'Time on book'
        const top = full ?? Math.max(...values)
        const highest = rows.find((row) => partOf(read(row)) === top)
        return (
          <div key={name} class="lane" data-lane={name}>
            <span class="lane-name">
              {name}
              {isBook && least !== null && (
                <span class="under">- - SLA: at least {formatPercent(least)}</span>
              )}
              <span class="under">
                {full === undefined && highest !== undefined && top > 0
                  ? `up to ${showPart(read(highest)!)}`
                  : ''}
                {full === undefined && top === 0 ? 'none' : ''}
                {full === undefined ? '' : '0 to 100 %'}
              </span>
            </span>
            <span class="lane-bars">
              {isBook && least !== null && (
                <span class="lane-least" style={{ bottom: `${partOf(least) * 100}%` }} />
              )}
              {columns.map((row, place) => {
                const value = row === null ? null : read(row)
                const short = isBook && value !== null && isBelow(value, least)
                return (
                  <span
                    key={row?.epoch ?? `free ${place}`}
                    class={`lane-column ${row === null ? 'free' : row === shown && index !== -1 ? 'chosen' : ''}`}
                    title={row === null ? 'missing' : undefined}
                    data-epoch={row?.epoch}
                    onPointerEnter={() => row !== null && setChosen(row.epoch)}
                    onPointerDown={() => row !== null && setChosen(row.epoch)}
                  >
                    {value !== null && top > 0 && (
                      <span
                        class={short ? 'lane-bar short' : 'lane-bar'}
                        style={{ height: `${Math.min(1, partOf(value) / top) * 100}%` }}
                      />
                    )}
                  </span>
                )
              })}
            </span>
          </div>
        )
      })}
      <p class="epochs-ends" aria-hidden="true">
        <span>epoch {groupDigits(rows[0]!.epoch)}</span>
        {columns.includes(null) && <span>hatched: missing</span>}
        <span>epoch {groupDigits(rows.at(-1)!.epoch)}</span>
      </p>
    </div>
  )
}

function describe(row: LiquidityProviderEpoch, least: string | null): string {
  const { epoch, timeOnBook, feePenalty, bondPenalty, equityLikeShare } = row
  const name = `Epoch ${groupDigits(epoch)}`
  if (timeOnBook === null) return `${name}: no SLA figures`
  const isShort = isBelow(timeOnBook, least)
  return [
    `${name}: on the book ${showPart(timeOnBook)} of the time${isShort ? ', less than the SLA requires' : ''}`,
    `fee penalty ${showPart(feePenalty ?? '')}`,
    `bond penalty ${showPart(bondPenalty ?? '')}`,
    equityLikeShare === null ? 'no share listed' : `equity-like share ${showPart(equityLikeShare)}`,
  ].join('; ')
}

/** A place on the screen, not a figure. */
function partOf(text: string | null): number {
  const number = text === null ? null : parseDecimal(text)
  return number === null ? 0 : approximate(number)
}

/** The rows, with null for each epoch between them that has none. */
function withFree(rows: readonly LiquidityProviderEpoch[]): (LiquidityProviderEpoch | null)[] {
  const free = BigInt(rows.at(-1)!.epoch) - BigInt(rows[0]!.epoch) + 1n - BigInt(rows.length)
  if (free <= 0n || free > MOST_FREE) return [...rows]
  return rows.flatMap((row, index) => {
    const before = rows[index - 1]
    const missing = before === undefined ? 0 : Number(BigInt(row.epoch) - BigInt(before.epoch)) - 1
    return [...Array<null>(Math.max(0, missing)).fill(null), row]
  })
}
