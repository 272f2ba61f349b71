import { useState } from 'preact/hooks'

/** A party: 64 hex digits, or the network itself. */
export const PARTY_ID = /^(?:[0-9a-f]{64}|network)$/i

/** Where a party's id is put in. */
export function PartyField({ party, onPick }: { party: string | null; onPick: (partyId: string) => void }) {
  const [text, setText] = useState(party ?? '')
  const given = text.trim()
  const wrong = given !== '' && !PARTY_ID.test(given)
  return (
    <form
      class="party-form"
      onSubmit={(event) => {
        event.preventDefault()
        if (given !== '' && !wrong) onPick(given.toLowerCase())
      }}
    >
      <label class="field grow">
        <span class="field-label">Party</span>
        <input
          class="mono"
          value={text}
          placeholder="64 hex digits, or network"
          spellcheck={false}
          autocomplete="off"
          aria-invalid={wrong}
          aria-describedby="party-fault"
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      <button type="submit" class="button" disabled={given === '' || wrong}>
        Show
      </button>
      <span id="party-fault" class="fault" aria-live="polite">
        {wrong && given.length > 8 ? 'A party id has 64 hex digits.' : ''}
      </span>
    </form>
  )
}
