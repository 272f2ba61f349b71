import { useId, useState } from 'preact/hooks'
import { PARTY_ID } from '../../../src/core/domain/ids.ts'

/** A party, or the beginning of its id. */
export const PARTY_START = /^(?:[0-9a-f]{1,64}|network)$/i

/** Parties that are offered while an id is typed. */
const OFFERED = 20

export type PartyFieldProps = {
  party: string | null
  /** The parties that are known. */
  parties: readonly string[]
  /** Whether only a whole id will do. */
  whole?: boolean
  onPick: (party: string) => void
}

/** Input field for a party's id, or a prefix. */
export function PartyField({ party, parties, whole = false, onPick }: PartyFieldProps) {
  const id = useId()
  const [text, setText] = useState(party ?? '')
  const given = text.trim().toLowerCase()
  const isEnough = (whole ? PARTY_ID : PARTY_START).test(given)
  const wrong = given !== '' && !PARTY_START.test(given) && !'network'.startsWith(given)
  const offered = given === '' ? [] : parties.filter((known) => known.startsWith(given)).slice(0, OFFERED)
  return (
    <form
      class="party-form"
      onSubmit={(event) => {
        event.preventDefault()
        if (isEnough) onPick(given)
      }}
    >
      <label class="field grow">
        <span class="field-label">{whole ? 'Party id' : 'Party id, or its first digits'}</span>
        <input
          class="mono"
          value={text}
          list={`${id}-parties`}
          placeholder={whole ? '64 hex digits' : 'hex digits, or network'}
          spellcheck={false}
          autocomplete="off"
          aria-invalid={wrong}
          aria-describedby={`${id}-fault`}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      <datalist id={`${id}-parties`}>
        {offered.map((known) => (
          <option key={known} value={known} />
        ))}
      </datalist>
      <button type="submit" class="button" disabled={!isEnough}>
        Show
      </button>
      <span id={`${id}-fault`} class="fault" aria-live="polite">
        {wrong
          ? 'A party id has up to 64 hex digits: 0 to 9 and a to f.'
          : whole && given !== '' && !isEnough
            ? `${given.length} of 64 digits`
            : ''}
      </span>
    </form>
  )
}
