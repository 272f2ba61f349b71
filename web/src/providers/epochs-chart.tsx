import type { LiquidityProviderEpoch } from 'lyra-client'
import { useState } from 'preact/hooks'
import { formatAmountWithUnit, type Unit } from '../figures/amount.ts'
import { approximate, parseDecimal } from '../figures/decimal.ts'
import { formatPart, formatPercent, groupDigits } from '../figures/format-figure.ts'
import { EPOCH_COLUMNS, type EpochColumn } from './epochs.ts'
import { isBelow } from './provider-figure.tsx'

/** Epochs without a row between two others are left free, unless they are more than this. */
const MOST_FREE = 400

/** Epochs that are named below the chart: more have no room on a phone. */
const MOST_NAMES = 8

/** The figures that are drawn: parts of one, and what was earned. */
const FIGURES = EPOCH_COLUMNS.filter(({ kind, name }) => kind === 'part' || name === 'earned')

export type EpochsChartProps = {
  /** Oldest first. */
  rows: readonly LiquidityProviderEpoch[]
  /** The least time on book that the market asks for; null if it asks for none. */
  least: string | null
  /** The unit of amounts. */
  unit: Unit | null
}

/** How a provider did in each epoch: a row of bars for each figure, a column for each epoch; read by mouse, touch and keys. */
export function EpochsChart({ rows, least, unit }: EpochsChartProps) {
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
      aria-label="Epochs of the provider. Left and right arrows move between them; the table below has the same figures."
      onKeyDown={onKeyDown}
      onPointerLeave={() => setChosen(null)}
    >
      <p class="epochs-said" aria-live="polite">
        {describe(shown, least, unit)}
      </p>
      {FIGURES.map((figure) => {
        const { name, title, read, full } = figure
        const values = rows.map((row) => partOf(read(row)))
        const isKnown = rows.some((row) => isFigureKnown(figure, row))
        const isBook = name === 'book'
        const top = full ?? Math.max(...values)
        const highest = rows.find((row) => partOf(read(row)) === top)
        return (
          <div key={name} class="epochs-row" data-row={name}>
            <span class="epochs-name">
              {title}
              {isBook && least !== null && (
                <span class="under">- - SLA: at least {formatPercent(least)}</span>
              )}
              <span class="under">
                {full === undefined && highest !== undefined && top > 0
                  ? `up to ${showValue(figure, read(highest)!, unit)}`
                  : ''}
                {full === undefined && top === 0 ? (isKnown ? 'none' : 'not known') : ''}
                {full === undefined ? '' : '0 to 100 %'}
              </span>
            </span>
            <span class="epochs-bars">
              {isBook && least !== null && (
                <span class="epochs-least" style={{ bottom: `${partOf(least) * 100}%` }} />
              )}
              {columns.map((row, place) => {
                const value = row === null ? null : read(row)
                const short = isBook && value !== null && isBelow(value, least)
                return (
                  <span
                    key={row?.epoch ?? `free ${place}`}
                    class={`epochs-column ${row === null ? 'free' : row === shown && index !== -1 ? 'chosen' : ''}`}
                    title={row === null ? 'missing' : undefined}
                    data-epoch={row?.epoch}
                    onPointerEnter={() => row !== null && setChosen(row.epoch)}
                    onPointerDown={() => row !== null && setChosen(row.epoch)}
                  >
                    {value !== null && value !== '' && top > 0 && (
                      <span
                        class={short ? 'epochs-bar short' : 'epochs-bar'}
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
      <div class="epochs-row epochs-names" aria-hidden="true">
        <span class="epochs-name">
          Epoch
          {columns.includes(null) && <span class="under">hatched: missing</span>}
        </span>
        <span class="epochs-numbers">
          {columns.map((row, place) => (
            <span key={row?.epoch ?? `free ${place}`} class="epochs-column">
              {row !== null && isNamed(place, columns.length) && (
                <span class="epochs-number">{groupDigits(row.epoch)}</span>
              )}
            </span>
          ))}
        </span>
      </div>
    </div>
  )
}

/** Whether the epoch of a column is named below it: the newest, and so many before it as have room. */
function isNamed(place: number, columns: number): boolean {
  return (columns - 1 - place) % Math.ceil(columns / MOST_NAMES) === 0
}

function describe(row: LiquidityProviderEpoch, least: string | null, unit: Unit | null): string {
  if (row.timeOnBook === null) return `Epoch ${groupDigits(row.epoch)}: no SLA figures`
  const figures = FIGURES.map((figure) => {
    const shown = isFigureKnown(figure, row)
      ? showValue(figure, figure.read(row) ?? 'none', unit)
      : 'not known'
    return `${figure.title.toLowerCase()} ${shown}`
  })
  const mark = isBelow(row.timeOnBook, least) ? 'below SLA; ' : ''
  return `Epoch ${groupDigits(row.epoch)}: ${mark}${figures.join('; ')}`
}

/** Whether a figure is known, or known to be none: an amount that is null is not. */
function isFigureKnown({ read, kind }: EpochColumn, row: LiquidityProviderEpoch): boolean {
  const text = read(row)
  return text !== '' && (text !== null || kind === 'part')
}

function showValue({ kind }: EpochColumn, text: string, unit: Unit | null): string {
  return kind === 'amount' ? formatAmountWithUnit(text, unit, { places: 2 }) : formatPart(text)
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
