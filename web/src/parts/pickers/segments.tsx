import { setParams } from '../../location.ts'

export type SegmentsProps = {
  label: string
  /** The parameter with the choice; without it, the default is chosen. */
  name: string
  /** Choices and their texts. */
  choices: Readonly<Record<string, string>>
  chosen: string
  byDefault: string
}

/** Buttons of which one is pressed: a choice that is part of the view's address. */
export function Segments({ label, name, choices, chosen, byDefault }: SegmentsProps) {
  return (
    <fieldset class="segments small" aria-label={label}>
      {Object.entries(choices).map(([choice, text]) => (
        <button
          key={choice}
          type="button"
          aria-pressed={choice === chosen}
          onClick={() => setParams({ [name]: choice === byDefault ? null : choice }, { push: false })}
        >
          {text}
        </button>
      ))}
    </fieldset>
  )
}
