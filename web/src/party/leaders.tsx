import type { FundingLeader } from 'lyra-client'
import { PAYMENT_STYLE, placesOf, type Unit } from '../figures/amount.ts'
import { groupDigits } from '../figures/format-figure.ts'
import { param, setParams } from '../location.ts'
import { Segments } from '../parts/pickers/segments.tsx'
import { Answer, Empty } from '../parts/states/states.tsx'
import { TableHead } from '../parts/tables/table-head.tsx'
import { TablePlace } from '../parts/tables/table-place.tsx'
import { Amount } from '../parts/values/amount.tsx'
import { Id } from '../parts/values/id.tsx'
import { subjectOf } from '../range/view-range.ts'
import type { Range } from '../series/series.ts'
import { latestCoverage, sumOf } from '../service/coverage.ts'
import { instrumentOf, instruments, marketLabel, marketUnit } from '../service/instruments.ts'
import { lyra } from '../service/lyra.ts'
import { knownMarkets } from '../service/markets.ts'
import { useQuery } from '../service/use-query.ts'
import { PaymentRange, rangeOfPayments, shownRange } from './payment-range.tsx'

const ROWS = 20

const ORDERS = { net: 'Gained most', received: 'Received most', paid: 'Paid most' } as const

/** Shown while no party is chosen: which parties received or paid most, of one asset or market. */
export function Leaders() {
  const stored = rangeOfPayments()
  const assets = settlementAssets()
  const asked = param('asset') ?? ''
  const [asset, unit] = [...assets].find(([id]) => id === asked) ?? [...assets][0] ?? [null, null]
  if (stored === null || asset === null)
    return (
      <Empty title="Whose payments?">
        Enter or paste the id of a party: what it paid and received in each market, and, if it provides
        liquidity, how it did.
      </Empty>
    )
  return <OfAsset asset={asset} unit={unit} stored={stored} assets={assets} />
}

/** The assets that markets settle in, with their units, by id; those of which no event names the decimals have none. */
function settlementAssets(): ReadonlyMap<string, Unit> {
  const units = new Map<string, Unit>()
  for (const { marketId, settlementAsset } of instruments.value?.values() ?? []) {
    const unit = marketUnit(marketId)
    if (settlementAsset?.id && unit !== null) units.set(settlementAsset.id, unit)
  }
  return units
}

type OfAssetProps = { asset: string; unit: Unit; stored: Range; assets: ReadonlyMap<string, Unit> }

function OfAsset({ asset, unit, stored, assets }: OfAssetProps) {
  const range = shownRange(stored)
  const markets = knownMarkets('funding').filter((id) => instrumentOf(id)?.settlementAsset?.id === asset)
  const market = markets.find((id) => id === param('market')) ?? null
  const order = (['received', 'paid'] as const).find((one) => one === param('order')) ?? 'net'
  const query = useQuery(
    `${asset} ${market} ${order} ${subjectOf(range)}`,
    (signal) =>
      lyra.fundingLeaders({
        ...(market === null ? { assetId: asset } : { marketId: market }),
        order,
        first: ROWS,
        from: range.from,
        to: range.to,
        signal,
      }),
    { version: `${range.from} ${range.to} ${sumOf(latestCoverage()?.fundingPayments ?? [])}` },
  )
  const names = Object.fromEntries([...assets].map(([id, { symbol }]) => [id, symbol]))
  return (
    <section class="panel" aria-labelledby="leaders-title">
      <div class="panel-head">
        <h2 id="leaders-title">
          Who gained and who paid funding{market === null ? ', in ' : ` on ${marketLabel(market)}, in `}
          {unit.symbol}
        </h2>
        {markets.length > 1 && (
          <label class="field inline">
            <span class="field-label">Market</span>
            <select
              value={market ?? ''}
              onChange={(event) => setParams({ market: event.currentTarget.value || null })}
            >
              <option value="">all of {unit.symbol}</option>
              {markets.map((id) => (
                <option key={id} value={id}>
                  {marketLabel(id)}
                </option>
              ))}
            </select>
          </label>
        )}
      </div>
      {assets.size > 1 && (
        <Segments
          label="Asset"
          name="asset"
          choices={names}
          chosen={asset}
          byDefault={[...assets.keys()][0]!}
        />
      )}
      <PaymentRange stored={stored} range={range} />
      <Segments label="Order" name="order" choices={ORDERS} chosen={order} byDefault="net" />
      <Answer query={query} what="the parties" tall>
        {({ fundingLeaders: { parties, leaders } }) =>
          leaders.length === 0 ? (
            <Empty title="No funding payments in this range">
              No period ended in which anyone had a position.
            </Empty>
          ) : (
            <>
              <LeadersTable leaders={leaders} unit={unit} />
              <p class="quiet">
                {leaders.length < parties &&
                  `The first ${leaders.length} of ${groupDigits(`${parties}`)} parties. `}
                Choose one, or enter its id above.
              </p>
            </>
          )
        }
      </Answer>
    </section>
  )
}

/** Parties with what they received and paid, each with a link to its own payments. */
export function LeadersTable({ leaders, unit }: { leaders: readonly FundingLeader[]; unit: Unit }) {
  const textsOf = ({ net, received, paid }: FundingLeader) => [net, received, paid === '0' ? '0' : `-${paid}`]
  const least = placesOf(leaders.flatMap(textsOf), unit, PAYMENT_STYLE)
  const titles = ['Total', 'Received', 'Paid']
  return (
    <TablePlace name="Table of parties">
      <table class="stacked">
        <TableHead titles={['Party', ...titles, 'Payments']} texts={['Party']} />
        <tbody>
          {leaders.map((leader) => (
            <tr key={leader.partyId}>
              <th scope="row">
                <Id
                  id={leader.partyId}
                  what="the party id"
                  link={{ view: 'party', params: { party: leader.partyId } }}
                />
              </th>
              {textsOf(leader).map((text, index) => (
                <td key={titles[index]} data-label={titles[index]} class="figure-column">
                  <Amount {...PAYMENT_STYLE} text={text} unit={unit} least={least} bare />
                </td>
              ))}
              <td data-label="Payments" class="figure-column">
                {groupDigits(`${leader.count}`)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </TablePlace>
  )
}
