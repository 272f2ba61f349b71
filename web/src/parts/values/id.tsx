import { shortId } from '../../figures/short-id.ts'
import type { Params, View } from '../../location.ts'
import { nameOfParty } from '../../saved/saved-parties.ts'
import { CopyButton } from '../copy-button.tsx'
import { Link } from '../link.tsx'

export type IdProps = {
  id: string
  what: string
  link?: { view: View; params: Params }
  /** Whether to show it in full if there is room. */
  whole?: boolean
}

/**
 * An id or a hash, shortened, or the name that the reader gave to a party, with a button that copies the id whole; a link if there
 * is somewhere to go.
 */
export function Id({ id, what, link, whole = false }: IdProps) {
  const name = nameOfParty(id)
  const text =
    name !== null ? (
      <span title={id} class="party-name">
        {name}
      </span>
    ) : (
      <code title={id} class="id">
        {whole ? (
          <>
            <span class="wide-id">{id}</span>
            <span class="narrow-id">{shortId(id)}</span>
          </>
        ) : (
          shortId(id)
        )}
      </code>
    )
  return (
    <span class="id-with-copy">
      {link === undefined ? text : <Link {...link}>{text}</Link>}
      {id !== '' && <CopyButton text={id} what={`${what} ${shortId(id)}`} />}
    </span>
  )
}
