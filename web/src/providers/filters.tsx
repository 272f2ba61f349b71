import { type Decimal, parseDecimal } from '../figures/decimal.ts'
import { param, setParams } from '../location.ts'

/** Which of the providers are listed. */
export type ProviderFilter = {
  penalised: boolean
  /** Only those with a share below so many percent; null for all. */
  below: Decimal | null
}

/** The filter that the view's state names. */
export function readFilter(): ProviderFilter {
  const below = parseDecimal(param('below') ?? '')
  return { penalised: param('penalised') !== null, below: below !== null && below.digits > 0n ? below : null }
}

export function FilterControls() {
  const text = param('below') ?? ''
  const wrong = text !== '' && readFilter().below === null
  return (
    <fieldset class="filters" aria-label="Filters">
      <label class="check">
        <input
          type="checkbox"
          checked={param('penalised') !== null}
          onChange={(event) => setParams({ penalised: event.currentTarget.checked ? '1' : null, page: null })}
        />
        Penalised only
      </label>
      <label class="field inline">
        <span class="field-label">Equity-like share below, %</span>
        <input
          class="short"
          inputMode="decimal"
          placeholder="any"
          value={text}
          aria-invalid={wrong}
          onInput={(event) =>
            setParams({ below: event.currentTarget.value.trim() || null, page: null }, { push: false })
          }
        />
      </label>
      <span class="fault" aria-live="polite">
        {wrong ? 'An equity-like share is a percentage above zero, such as 5 or 0.5.' : ''}
      </span>
    </fieldset>
  )
}
