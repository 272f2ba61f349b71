import { NETWORK, PARTY_ID } from '../../../src/core/domain/ids.ts'
import { param, setParams } from '../location.ts'
import { Mine } from '../mine/mine.tsx'
import { SaveParty } from '../mine/save-party.tsx'
import { CopyLink } from '../parts/request.tsx'
import { beforeCoverage } from '../parts/states/before-coverage.tsx'
import { Empty } from '../parts/states/states.tsx'
import { AboutNetwork } from '../parts/values/network.tsx'
import { PartyField } from '../providers/party-field.tsx'
import { savedParties } from '../saved/saved-parties.ts'
import { Leaders } from './leaders.tsx'
import { Payments } from './party-payments.tsx'
import { Provisions } from './party-provisions.tsx'
import { FIRST_PAGES } from './payment-range.tsx'

/** A party's payments, and its figures as a liquidity provider. */
export function PartyView() {
  const party = param('party')?.toLowerCase() ?? null
  const bar = (
    <div class="view-bar">
      <PartyField
        key={party ?? ''}
        party={party}
        parties={savedParties.value.map(({ id }) => id)}
        whole
        onPick={(id) => setParams({ party: id, ...FIRST_PAGES })}
      />
      <span class="bar-actions">
        <CopyLink />
      </span>
      {party !== null && party !== NETWORK && PARTY_ID.test(party) && (
        <SaveParty key={party} partyId={party} />
      )}
    </div>
  )
  const before = beforeCoverage('the party', bar)
  if (before !== null) return before
  return (
    <>
      {bar}
      {party === null ? (
        <>
          {savedParties.value.length > 0 && <Mine />}
          <Leaders />
        </>
      ) : !PARTY_ID.test(party) ? (
        <Empty title="The id in the page's address is invalid">
          <code>{party}</code> is not a party's id: it has 64 hex digits.
        </Empty>
      ) : (
        <>
          {party === NETWORK ? <AboutNetwork /> : <Payments key={party} partyId={party} />}
          <Provisions key={`of ${party}`} partyId={party} />
        </>
      )}
    </>
  )
}
