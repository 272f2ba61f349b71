import { LINE_NAMES, LINES } from './price-lines.ts'

export type LegendProps = { hidden: ReadonlySet<string>; onChange: (hidden: ReadonlySet<string>) => void }

/** The legend; each line can be hidden. */
export function Legend({ hidden, onChange }: LegendProps) {
  return (
    <fieldset class="legend" aria-label="Lines of the chart">
      {LINES.map((line) => (
        <button
          key={line}
          type="button"
          class={`legend-item ${line}`}
          aria-pressed={!hidden.has(line)}
          onClick={() => onChange(hidden.has(line) ? without(hidden, line) : new Set([...hidden, line]))}
        >
          <span class="line-sample" aria-hidden="true" />
          {LINE_NAMES[line]}
        </button>
      ))}
    </fieldset>
  )
}

function without(lines: ReadonlySet<string>, line: string): ReadonlySet<string> {
  return new Set([...lines].filter((other) => other !== line))
}
