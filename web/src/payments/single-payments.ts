import type { FundingPayment, LyraClient, Page, PageOptions, StatementRow } from 'lyra-client'

/** A payment, with what a statement knows of it. */
export type SinglePayment = FundingPayment & Pick<StatementRow, 'rate' | 'size'>

type SinglePayments = Page<FundingPayment> & { payments: readonly SinglePayment[] }

/** A page of payments, with their rates and sizes. */
export async function askEach(
  client: LyraClient,
  { partyId, from, to }: { partyId: string; from: bigint; to: bigint },
  page: PageOptions,
  signal?: AbortSignal,
): Promise<SinglePayments> {
  const found = await client.fundingPaymentsPage({ partyId, from, to }, { ...page, signal })
  const nodes = found.rows.map(({ node }) => node)
  if (nodes.length === 0) return { ...found, payments: [] }
  // A statement of the page's times has the rates and sizes of its payments.
  const times = nodes.map(({ timestamp }) => BigInt(timestamp)).sort((a, b) => (a < b ? -1 : 1))
  const { partyStatement } = await client.partyStatement(partyId, {
    from: times[0]!,
    to: times.at(-1)! + 1n,
    signal,
  })
  const known = new Map(
    partyStatement.rows
      .filter(({ kind }) => kind === 'funding payment')
      .map((row) => [`${row.marketId} ${row.period}`, row]),
  )
  const payments = nodes.map((payment): SinglePayment => {
    const row = known.get(`${payment.marketId} ${payment.fundingPeriodSeq}`)
    return { ...payment, rate: row?.rate ?? null, size: row?.size ?? null }
  })
  return { ...found, payments }
}
