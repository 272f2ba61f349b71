import { useState } from 'preact/hooks'
import { forgetParty, keepParty, keptParties, MOST_KEPT, mayKeepMore } from '../service/kept-parties.ts'

/** Keeps a party in this browser, by a name, or forgets it. */
export function KeepParty({ partyId }: { partyId: string }) {
  const kept = keptParties.value.find(({ id }) => id === partyId) ?? null
  const [name, setName] = useState(kept?.name ?? '')
  if (kept === null && !mayKeepMore()) {
    return <span class="quiet">You keep {MOST_KEPT} parties, which is the most.</span>
  }
  const isNew = kept === null || kept.name !== name.trim()
  return (
    <form
      class="keep-party"
      onSubmit={(event) => {
        event.preventDefault()
        keepParty(partyId, name)
      }}
    >
      <label class="field inline">
        <span class="field-label">Name</span>
        <input
          value={name}
          maxLength={40}
          placeholder="such as Desk 2"
          title="Kept in this browser alone"
          autocomplete="off"
          onInput={(event) => setName(event.currentTarget.value)}
        />
      </label>
      {isNew && (
        <button type="submit" class="button">
          {kept === null ? 'Keep as mine' : 'Rename'}
        </button>
      )}
      {kept !== null && (
        <button type="button" class="button" onClick={() => forgetParty(partyId)}>
          Forget
        </button>
      )}
    </form>
  )
}
