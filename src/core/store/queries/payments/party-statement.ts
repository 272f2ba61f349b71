import { type Coverage, isImportedWithout } from '../../../domain/coverage.ts'
import { type Decimal, parseDecimal } from '../../../domain/decimal.ts'
import { isWithin } from '../../../domain/height-ranges.ts'
import { MAX_INT64, MIN_INT64 } from '../../../domain/integers.ts'
import { type Missing, missingOf } from '../../../domain/missing.ts'
import {
  type FeesEntry,
  type PaymentEntry,
  type StatementMarket,
  type StatementRow,
  StatementRows,
} from '../../../domain/statement.ts'
import type { Row } from '../../../model/resource.ts'
import { fundingPayments } from '../../../resources/funding-payments/description.ts'
import { liquidityProviderHistory } from '../../../resources/liquidity-provider-history/description.ts'
import type { StoreVersion } from '../../changes.ts'
import type { StoreHead } from '../../pages/page.ts'
import { fromClause } from '../../pages/scan-sql.ts'
import type { Query } from '../../queries-protocol.ts'
import { textOf } from '../../statements.ts'
import { readFilledStore } from '../freshness.ts'
import type { PaymentRange } from './funding-sum.ts'
import { type KeysetScan, ROWS_AT_ONCE, readByKey } from './keyset.ts'
import { readUnprunedSince } from './payment-coverage.ts'

/** So many payments and epochs are read at most: a statement is written in memory. An epoch gives up to two rows. */
export const MAX_STATEMENT_ENTRIES = 100_000

/** A request for a party's statement of a range of times. */
export type PartyStatementQuery = PaymentRange & { partyId: string }

/** A party's statement, in one snapshot. */
export type PartyStatement = {
  storeHead: StoreHead
  version: StoreVersion
  /** In time order; then by market, and payments before fees. */
  rows: readonly StatementRow[]
  /** How many of them have no amount, because it is not known. */
  unknown: number
  /** Whether there are more than {@link MAX_STATEMENT_ENTRIES}; then there are none. */
  isTooLong: boolean
} & Missing

const READ_PAYMENTS = `
  select payments.market_id, ${textOf('payments.timestamp')}, ${textOf('payments.seq')}, payments.amount,
    payments.loss_amount, periods.funding_payment, periods.funding_rate
  from funding_payments as payments
    left join funding_periods as periods on periods.market_id = payments.market_id and periods.seq = payments.seq
  where payments.party_id = $1 and payments.timestamp <= $2
    and (payments.timestamp, payments.market_id, payments.seq) > ($3, $4, $5)
  order by payments.timestamp, payments.market_id, payments.seq limit ${ROWS_AT_ONCE}`

/** An epoch that has ended, for a provider, as it is stored. */
type HistoricEpoch = {
  marketId: string
  time: bigint
  epoch: string
  /** In the smallest unit of the settlement asset; null if not stored. */
  fees: string | null
  penalty: Decimal | null
  height: bigint
  /** Whether the core sent figures of the provider: it then had a provision. */
  hasFigures: boolean
}

const HISTORY = liquidityProviderHistory.storage

const READ_HISTORY = `
  select market_id, ${textOf('timestamp')}, ${textOf('epoch')}, fees_paid, fee_penalty, cast(height as text),
    case when has_figures then 1 else 0 end
  from ${fromClause(liquidityProviderHistory)}
  where party_id = $1 and timestamp <= $2 and (timestamp, market_id, epoch) > ($3, $4, $5) and ${HISTORY.condition}
  order by timestamp, market_id, epoch limit ${ROWS_AT_ONCE}`

const READ_MARKET = `
  select instruments.market_id, code, cast(position_decimal_places as text), settlement_asset, assets.symbol,
    cast(assets.decimals as text)
  from instruments left join assets on assets.asset_id = instruments.settlement_asset
  where instruments.market_id = $1`

const READ_PROVISION = `
  select market_id from liquidity_provisions where market_id = $1 and party_id = $2 limit 1`

/** Reads what a party paid and received, by payment and epoch; null in an empty store. */
export function* readPartyStatement(query: PartyStatementQuery): Query<PartyStatement | null> {
  const filled = yield* readFilledStore()
  if (filled === null) return null
  const { storeHead, version, coverage } = filled
  const missing = yield* readMissing(coverage, storeHead, query)
  const answer = { storeHead, version, missing: missing.missing, since: missing.since }
  const payments = yield* readAll(READ_PAYMENTS, query, MAX_STATEMENT_ENTRIES, paymentEntry)
  const left = MAX_STATEMENT_ENTRIES - (payments?.length ?? 0)
  const history = payments && (yield* readAll(READ_HISTORY, query, left, historicEpoch))
  if (payments === null || history === null) return { ...answer, rows: [], unknown: 0, isTooLong: true }
  const withProvision = yield* readMarketsWithProvision(query.partyId, history)
  const fees = history.flatMap((epoch) => feesEntry(epoch, withProvision, coverage) ?? [])
  const entries = [...payments, ...fees]
  entries.sort((a, b) => compare(a.time, b.time) || compare(a.marketId, b.marketId))
  const statement = new StatementRows(query.partyId, yield* readMarkets(entries))
  for (const entry of entries) statement.add(entry)
  return { ...answer, rows: statement.rows, unknown: statement.unknown, isTooLong: false }
}

/** What a statement of a range may be without. */
function* readMissing(
  coverage: Coverage,
  storeHead: StoreHead,
  { start, end }: PaymentRange,
): Query<Missing> {
  const since = [...coverage.since, ...(yield* readUnprunedSince(storeHead))]
  // A chain begins with block 1.
  if (coverage.first > 1n)
    since.push({ resource: fundingPayments.name, height: coverage.first, start: coverage.firstTimestamp })
  return missingOf(
    { ...coverage, since },
    [fundingPayments.name, liquidityProviderHistory.name, FEES].map((resource) => ({ resource, start, end })),
  )
}

/** The name of the fees in coverage (resources/stored.ts). */
const FEES = 'paidLiquidityFees'

/**
 * All rows of a party in a range.
 *
 * @param text a statement whose first three columns are market, time and number, by which it continues after a row
 * @returns what is made of each row; null if there are more than `most`
 */
function* readAll<Item>(
  text: string,
  { partyId, start, end }: PartyStatementQuery,
  most: number,
  itemOf: (row: Row) => Item,
): Query<Item[] | null> {
  const upTo = end === null ? MAX_INT64 : end - 1n
  const scan: KeysetScan = {
    text,
    fixed: [partyId, upTo],
    begin: [start ?? MIN_INT64, '', -1n],
    keyOf: ([marketId, time, number]) => [BigInt(time!), String(marketId), BigInt(number!)],
  }
  const items: Item[] = []
  const read = yield* readByKey(scan, most, (row) => items.push(itemOf(row)))
  return read === null ? null : items
}

function paymentEntry([marketId, time, seq, amount, lossAmount, unitPayment, rate]: Row): PaymentEntry {
  return {
    kind: 'payment',
    time: BigInt(time!),
    marketId: String(marketId),
    seq: String(seq),
    amount: parseDecimal(String(amount)),
    lossAmount: parseDecimal(String(lossAmount)),
    unitPayment: decimalOf(unitPayment),
    rate: rate == null ? null : String(rate),
  }
}

function historicEpoch([marketId, time, epoch, fees, penalty, height, hasFigures]: Row): HistoricEpoch {
  return {
    marketId: String(marketId),
    time: BigInt(time!),
    epoch: String(epoch),
    fees: fees == null ? null : String(fees),
    penalty: decimalOf(penalty),
    height: BigInt(height!),
    hasFigures: Number(hasFigures) === 1,
  }
}

/** Null if the market paid nothing to the party for the epoch: of that the core sends no event. */
function feesEntry(
  { marketId, time, epoch, fees, penalty, height, hasFigures }: HistoricEpoch,
  withProvision: ReadonlySet<string>,
  coverage: Coverage,
): FeesEntry | null {
  if (fees === null && hasResource(coverage, FEES, height)) return null
  const hadProvision = hasFigures || withProvision.has(marketId)
  return {
    kind: 'fees',
    time,
    marketId,
    epoch,
    fees: decimalOf(fees),
    penalty: hadProvision ? penalty : 'none',
  }
}

/** Whether a store has a resource's rows of a block that it has. */
function hasResource({ since, imported }: Coverage, name: string, height: bigint): boolean {
  if (since.some(({ resource, height: from }) => resource === name && height < from)) return false
  const without = imported.filter((range) => isImportedWithout(range, name))
  return !isWithin(without, height)
}

/** The markets in which a party without figures in the history has, or once had, a provision: others belong to AMMs. */
function* readMarketsWithProvision(
  partyId: string,
  history: readonly HistoricEpoch[],
): Query<ReadonlySet<string>> {
  const markets = new Set(history.filter(({ hasFigures }) => !hasFigures).map(({ marketId }) => marketId))
  const each = [...markets].map((marketId) => [marketId, partyId])
  const rows = each.length === 0 ? [] : yield { text: READ_PROVISION, each }
  return new Set(rows.map(([marketId]) => String(marketId)))
}

function* readMarkets(entries: readonly { marketId: string }[]): Query<ReadonlyMap<string, StatementMarket>> {
  const each = [...new Set(entries.map(({ marketId }) => marketId))].map((marketId) => [marketId])
  const rows = each.length === 0 ? [] : yield { text: READ_MARKET, each }
  return new Map(rows.map((row) => [String(row[0]), marketOf(row)]))
}

function marketOf([, code, positionDecimals, assetId, symbol, decimals]: Row): StatementMarket {
  return {
    code: String(code),
    positionDecimals: BigInt(positionDecimals!),
    asset:
      assetId == null
        ? null
        : {
            id: String(assetId),
            symbol: symbol == null ? null : String(symbol),
            decimals: decimals == null ? null : BigInt(decimals),
          },
  }
}

function decimalOf(text: Row[number] | undefined): Decimal | null {
  return text == null ? null : parseDecimal(String(text))
}

function compare<Value extends bigint | string>(a: Value, b: Value): number {
  return a < b ? -1 : a > b ? 1 : 0
}
