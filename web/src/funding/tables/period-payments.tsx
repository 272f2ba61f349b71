import type { FundingPayment } from 'lyra-client'
import { useEffect, useRef } from 'preact/hooks'
import { exportTarget } from '../../../../client/src/requests.ts'
import { NETWORK } from '../../../../src/core/domain/ids.ts'
import { SECOND } from '../../../../src/core/domain/time.ts'
import { PAYMENT_STYLE, placesOf, type Unit } from '../../figures/amount.ts'
import { compare, writeDecimal } from '../../figures/decimal.ts'
import { groupDigits } from '../../figures/format-figure.ts'
import { formatSecond } from '../../figures/format-time.ts'
import { param, setParams } from '../../location.ts'
import { Request } from '../../parts/request.tsx'
import { MissingRows } from '../../parts/states/missing-rows.tsx'
import { Answer, Empty } from '../../parts/states/states.tsx'
import { Pages, pageOf } from '../../parts/tables/pages.tsx'
import { TableHead } from '../../parts/tables/table-head.tsx'
import { TablePlace } from '../../parts/tables/table-place.tsx'
import { Amount } from '../../parts/values/amount.tsx'
import { Id } from '../../parts/values/id.tsx'
import { AboutNetwork } from '../../parts/values/network.tsx'
import { changeOf } from '../../payments/payments.ts'
import type { Period, Periods } from '../../periods/period.ts'
import { askLines } from '../../service/ask-lines.ts'
import { useQuery } from '../../service/use-query.ts'

/** The payments of a period are in the block that ends it, whose time is near its end. */
const BEFORE = 60n * SECOND
const AFTER = 600n * SECOND

/** Rows of a page. */
const ROWS = 20

/** The period whose payments a click is opening: they come into sight, unlike those that an address names. */
let opening: string | null = null

/** Shows who paid for a period. */
export function openPayments(seq: bigint): void {
  opening = `${seq}`
  setParams({ paid: `${seq}`, paidPage: null })
}

/** Hides who paid, and goes back to where it was opened. */
function closePayments(seq: bigint): void {
  document.querySelector<HTMLElement>(`[data-pays="${seq}"]`)?.focus()
  setParams({ paid: null, paidPage: null })
}

export type NamedPeriodPaymentsProps = {
  marketId: string
  /** Those of the shown range; null before they are known. */
  periods: Periods | null
  unit: Unit | null
}

/** The payments of the period that the address names, or why there are none; nothing if it names none. */
export function NamedPeriodPayments({ marketId, periods, unit }: NamedPeriodPaymentsProps) {
  const named = param('paid')
  if (named === null || periods === null) return null
  const period = periods.list.find(({ seq }) => `${seq}` === named)
  if (period?.end == null) return <NoPeriodPayments seq={named} period={period ?? null} />
  return (
    <PeriodPayments key={named} marketId={marketId} period={{ ...period, end: period.end }} unit={unit} />
  )
}

type PeriodPaymentsProps = { marketId: string; period: Period & { end: bigint }; unit: Unit | null }

/** The payments of each party for a period. */
function PeriodPayments({ marketId, period: { seq, end }, unit }: PeriodPaymentsProps) {
  const filters = { marketId, from: end - BEFORE, to: end + AFTER }
  const target = exportTarget('fundingPayments', filters, { format: 'ndjson' })
  const query = useQuery(target, async (signal) =>
    (await askLines<FundingPayment>(target, signal)).filter(
      ({ fundingPeriodSeq }) => fundingPeriodSeq === `${seq}`,
    ),
  )
  const panel = useRef<HTMLElement>(null)
  useEffect(() => {
    if (opening !== `${seq}`) return
    opening = null
    panel.current!.scrollIntoView({ block: 'start' })
    panel.current!.focus({ preventScroll: true })
  }, [])
  return (
    <section ref={panel} class="panel opened" aria-labelledby="paid-title" tabIndex={-1}>
      <div class="panel-head">
        <h2 id="paid-title">Who paid for period {groupDigits(`${seq}`)}</h2>
        <span class="quiet">ended {formatSecond(end)} UTC</span>
        <button type="button" class="button" onClick={() => closePayments(seq)}>
          Close
        </button>
      </div>
      <MissingRows resource="fundingPayments" range={{ from: end, to: end + 1n }} />
      <Answer query={query} what="payments">
        {(payments) =>
          payments.length === 0 ? (
            <Empty title="No payments of this period">
              Nobody had a position, or the payments are not stored.
            </Empty>
          ) : (
            <PaidTable payments={payments} unit={unit} />
          )
        }
      </Answer>
      <Request
        url={`${location.origin}${target}`}
        csv={`${location.origin}${exportTarget('fundingPayments', filters, { format: 'csv' })}`}
      />
    </section>
  )
}

/** In place of the payments of a period that the address names, if the store has no such period, or not its end. */
function NoPeriodPayments({ seq, period }: { seq: string; period: Period | null }) {
  return (
    <p class="notice" data-figure="not paid">
      {period === null
        ? `Who paid for period ${groupDigits(seq)} cannot be shown: it is not among the stored periods of this range.`
        : `Who paid for period ${groupDigits(seq)} cannot be shown: no end of it is stored.`}
    </p>
  )
}

/** The payments of a period by party: those that paid most first, and the network, whose real payment is not known, last. */
export function PaidTable({ payments, unit }: { payments: readonly FundingPayment[]; unit: Unit | null }) {
  const isNetwork = ({ partyId }: FundingPayment) => partyId === NETWORK
  const listed = payments.toSorted(
    (a, b) => Number(isNetwork(a)) - Number(isNetwork(b)) || compare(changeOf(a), changeOf(b)),
  )
  const shown = pageOf('paidPage', listed.length, ROWS)
  const isMissed = payments.some(({ lossAmount }) => lossAmount !== '0')
  const least = placesOf(
    listed.flatMap((payment) => [writeDecimal(changeOf(payment)), payment.lossAmount]),
    unit,
    PAYMENT_STYLE,
  )
  const titles = ['Received, or paid if below zero', ...(isMissed ? ['Missed: others could not pay'] : [])]
  return (
    <>
      <TablePlace name="Table of payments by party">
        <table class="paid">
          <TableHead titles={['Party', ...titles]} texts={['Party']} />
          <tbody>
            {listed.slice(shown.first, shown.first + ROWS).map((payment) => (
              <tr key={payment.partyId}>
                <th scope="row">
                  <Id
                    id={payment.partyId}
                    what="the party id"
                    link={{ view: 'party', params: { party: payment.partyId } }}
                  />
                  {isNetwork(payment) && <span class="tag">as owed</span>}
                </th>
                {[writeDecimal(changeOf(payment)), ...(isMissed ? [payment.lossAmount] : [])].map(
                  (text, index) => (
                    <td key={titles[index]} class="figure-column">
                      <Amount {...PAYMENT_STYLE} text={text} unit={unit} least={least} />
                    </td>
                  ),
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </TablePlace>
      <Pages {...shown} what="parties" />
      {payments.some(isNetwork) && <AboutNetwork />}
    </>
  )
}
