import { useState } from 'preact/hooks'
import {
  forgetParty,
  MAX_NAME,
  MOST_SAVED,
  maySaveMore,
  savedParties,
  saveParty,
} from '../saved/saved-parties.ts'

/** Saves a party in this browser, by a name, or forgets it. */
export function SaveParty({ partyId }: { partyId: string }) {
  const saved = savedParties.value.find(({ id }) => id === partyId) ?? null
  const [name, setName] = useState(saved?.name ?? '')
  if (saved === null && !maySaveMore()) {
    return <span class="quiet">You keep {MOST_SAVED} parties, which is the most.</span>
  }
  const isNew = saved === null || saved.name !== name.trim()
  return (
    <form
      class="keep-party"
      onSubmit={(event) => {
        event.preventDefault()
        saveParty(partyId, name)
      }}
    >
      <label class="field inline">
        <span class="field-label">Name</span>
        <input
          value={name}
          maxLength={MAX_NAME}
          placeholder="such as Desk 2"
          title="Kept in this browser alone"
          autocomplete="off"
          onInput={(event) => setName(event.currentTarget.value)}
        />
      </label>
      {isNew && (
        <button type="submit" class="button">
          {saved === null ? 'Keep as mine' : 'Rename'}
        </button>
      )}
      {saved !== null && (
        <button type="button" class="button" onClick={() => forgetParty(partyId)}>
          Forget
        </button>
      )}
    </form>
  )
}
