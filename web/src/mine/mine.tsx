import { DAY } from '../../../src/core/domain/time.ts'
import { inUnit, PAYMENT_STYLE, placesOf } from '../figures/amount.ts'
import { type Decimal, writeDecimal } from '../figures/decimal.ts'
import { groupDigits } from '../figures/format-figure.ts'
import { formatMinute } from '../figures/format-time.ts'
import { shortId } from '../figures/short-id.ts'
import { MissingRows } from '../parts/states/missing-rows.tsx'
import { Answer } from '../parts/states/states.tsx'
import { TableHead } from '../parts/tables/table-head.tsx'
import { TablePlace } from '../parts/tables/table-place.tsx'
import { Amount } from '../parts/values/amount.tsx'
import { DueTime } from '../parts/values/due-time.tsx'
import { Id } from '../parts/values/id.tsx'
import { MarketName } from '../parts/values/market-name.tsx'
import { describeStanding } from '../providers/standing.ts'
import { type SavedParty, savedParties } from '../saved/saved-parties.ts'
import { latestCoverage } from '../service/coverage.ts'
import { instrumentOf, marketUnit } from '../service/instruments.ts'
import { lyra } from '../service/lyra.ts'
import { useQuery } from '../service/use-query.ts'
import { useStanding } from '../service/use-standing.ts'
import { useSummaries } from '../service/use-summaries.ts'
import { askParty, type Holding, holdingsOf, lastChange, totalOf } from './holding.ts'

/** The saved parties: what they received lately, their next payments, and how they stand as liquidity providers. */
export function Mine() {
  const summaries = useSummaries()
  const coverage = latestCoverage()
  const last = BigInt(coverage?.blocks.lastTimestamp ?? 0)
  return (
    <section class="panel" aria-labelledby="mine-title">
      <div class="panel-head">
        <h2 id="mine-title">My parties</h2>
        <span class="quiet">Kept in this browser alone. Choose one to rename or forget it.</span>
      </div>
      <MissingRows resource="fundingPayments" range={{ from: last - 30n * DAY, to: last }} />
      {savedParties.value.map((party) => (
        <MyParty key={party.id} party={party} summaries={summaries.data ?? []} last={last} />
      ))}
    </section>
  )
}

type MyPartyProps = { party: SavedParty; summaries: Parameters<typeof holdingsOf>[1]; last: bigint }

function MyParty({ party: { id, name }, summaries, last }: MyPartyProps) {
  const payments = latestCoverage()?.fundingPayments ?? []
  const version = payments.map(({ count }) => count).join()
  const query = useQuery(id, (signal) => askParty(lyra, id, last, signal), { version })
  const standing = useStanding({ partyId: id })
  return (
    <div class="my-party" data-party={id}>
      <h3>
        <Id id={id} what="the party id" link={{ view: 'party', params: { party: id } }} />
      </h3>
      <Answer query={query} what="payments">
        {(figures) => {
          const holdings = holdingsOf(figures, summaries, last)
          return holdings.length === 0 ? (
            <p class="quiet">No funding payment in the last 30 days.</p>
          ) : (
            <HoldingsTable holdings={holdings} last={last} of={name || shortId(id)} />
          )
        }}
      </Answer>
      <ul class="standings">
        {(standing.data?.liquidityStanding ?? []).map((one) => (
          <li key={one.marketId} data-standing={one.marketId}>
            <MarketName
              marketId={one.marketId}
              link={{ view: 'providers', params: { market: one.marketId, party: id } }}
            />{' '}
            {describeStanding(one, null) ??
              'Provides liquidity; what it still needs on the book is not known.'}{' '}
            {one.epochExpectedEnd !== null &&
              `The epoch ends about ${formatMinute(one.epochExpectedEnd)} UTC.`}
          </li>
        ))}
      </ul>
    </div>
  )
}

const TITLES = [
  'Market',
  '7 days',
  '30 days',
  'Last payment',
  'Position then',
  'Next payment',
  'Estimate for it',
]

/** A party's markets, those of an asset together, with their totals. */
export function HoldingsTable({
  holdings,
  last,
  of,
}: {
  holdings: readonly Holding[]
  last: bigint
  /** Whose markets they are. */
  of: string
}) {
  const assetOf = ({ marketId }: Holding) => instrumentOf(marketId)?.settlementAsset?.id ?? marketId
  const groups = [...Map.groupBy(holdings, assetOf).values()]
  return (
    <TablePlace name={`Markets of ${of}`}>
      <table class="stacked">
        <TableHead titles={TITLES} texts={['Market']} />
        <tbody>
          {groups.flat().map((holding) => (
            <HoldingRow key={holding.marketId} holding={holding} last={last} />
          ))}
        </tbody>
        <tfoot>
          {groups
            .filter(({ length }) => length > 1)
            .map((group) => {
              const [{ marketId }] = group as [Holding]
              const sumOf = (read: (holding: Holding) => Decimal | null) => totalOf(group.map(read))
              const estimate = sumOf(({ estimate }) => estimate)
              return (
                <tr key={marketId}>
                  <th scope="row">Total{inUnit(marketUnit(marketId))}</th>
                  <Money title="7 days" value={sumOf(({ week }) => week)!.sum} marketId={marketId} />
                  <Money title="30 days" value={sumOf(({ month }) => month)!.sum} marketId={marketId} />
                  <td class="less" />
                  <td class="less" />
                  <td class="less" />
                  <Money title="Estimate for it" value={estimate?.sum ?? null} marketId={marketId}>
                    {estimate !== null && estimate.known < group.length && (
                      <span class="under">
                        for {estimate.known} of {group.length} markets
                      </span>
                    )}
                  </Money>
                </tr>
              )
            })}
        </tfoot>
      </table>
    </TablePlace>
  )
}

function HoldingRow({ holding, last }: { holding: Holding; last: bigint }) {
  const { marketId, week, month, due, estimate, last: paid } = holding
  return (
    <tr data-market={marketId}>
      <th scope="row">
        <MarketName marketId={marketId} link={{ view: 'funding', params: { market: marketId } }} />
      </th>
      <Money title="7 days" value={week} marketId={marketId} />
      <Money title="30 days" value={month} marketId={marketId} />
      <Money title="Last payment" value={lastChange(holding)} marketId={marketId}>
        {paid !== null && <span class="under">{formatMinute(paid.timestamp)} UTC</span>}
      </Money>
      <td data-label="Position then" class="figure-column">
        {paid?.size == null ? '–' : groupDigits(paid.size)}
      </td>
      <td data-label="Next payment">{due === null ? '–' : <DueTime due={due} last={last} />}</td>
      <Money title="Estimate for it" value={estimate} marketId={marketId} />
    </tr>
  )
}

function Money({
  title,
  value,
  marketId,
  children,
}: {
  title: string
  value: Decimal | null
  marketId: string
  children?: preact.ComponentChildren
}) {
  const unit = marketUnit(marketId)
  const text = value === null ? null : writeDecimal(value)
  return (
    <td data-label={title} class="figure-column">
      {text === null ? (
        '–'
      ) : (
        <Amount {...PAYMENT_STYLE} text={text} unit={unit} least={placesOf([text], unit, PAYMENT_STYLE)} />
      )}
      {children}
    </td>
  )
}
