import { shortId } from '../../figures/short-id.ts'
import type { Params, View } from '../../location.ts'
import { instrumentOf, marketLabel } from '../../service/instruments.ts'
import { CopyButton } from '../copy-button.tsx'
import { Link } from '../link.tsx'

export type MarketNameProps = { marketId: string; link?: { view: View; params: Params } }

/** A market by its code, with its id to copy; by its id if no event named it. */
export function MarketName({ marketId, link }: MarketNameProps) {
  const instrument = instrumentOf(marketId)
  const name = instrument?.code || instrument?.name
  const title = name ? `${instrument!.name} ${marketId}` : marketId
  const text = name ? (
    <span class="market-code">{marketLabel(marketId)}</span>
  ) : (
    <code class="id">{shortId(marketId)}</code>
  )
  return (
    <span class="id-with-copy" title={title}>
      {link === undefined ? text : <Link {...link}>{text}</Link>}
      <CopyButton text={marketId} what={`the market id ${shortId(marketId)}`} />
    </span>
  )
}
