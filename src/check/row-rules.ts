import { MARKET_ID, PARTY_ID } from '../domain/ids.ts'
import { DECIMAL } from '../events/left-out.ts'
import { MARKET_STATES, TRADING_MODES } from '../events/market-enums.ts'
import type { Table } from '../store/tables.ts'
import type { NamedRow } from '../store/walk-table.ts'

type Rule = (value: string) => boolean

const isLowerCase: Rule = (value) => value === value.toLowerCase()
const isNatural: Rule = (value) => /^\d+$/.test(value)
const between = (min: number, max: number): Rule => {
  return (value) => /^-?\d+$/.test(value) && Number(value) >= min && Number(value) <= max
}

/** What a column's values are, whatever the table; null is allowed where the column allows it. */
const COLUMN_RULES: Record<string, Rule> = {
  market_id: (value) => MARKET_ID.test(value) && isLowerCase(value),
  party_id: (value) => PARTY_ID.test(value) && isLowerCase(value),
  provision_id: isLowerCase,
  source: between(0, 2),
  status: between(0, 6),
  seq: isNatural,
  at_block: isNatural,
  height: isNatural,
  event_index: between(0, 2 ** 31 - 1),
  points: between(1, Number.MAX_SAFE_INTEGER),
  opening_auction: between(0, 1),
  leave: between(0, 1),
  price: (value) => DECIMAL.test(value),
  twap: (value) => DECIMAL.test(value),
  ...Object.fromEntries(
    ['first', 'last', 'minimum', 'maximum'].flatMap((name) => [
      [`price_${name}`, (value) => DECIMAL.test(value)],
      [`twap_${name}`, (value) => DECIMAL.test(value)],
    ]),
  ),
  internal_twap: (value) => DECIMAL.test(value),
  external_twap: (value) => DECIMAL.test(value),
  mark_price: (value) => value === '' || DECIMAL.test(value),
  open_interest: isNatural,
  market_state: between(0, MARKET_STATES.length - 1),
  trading_mode: between(0, TRADING_MODES.length - 1),
  kind: (value) => value === 'missing' || value === 'incomplete',
}

/** What is wrong with a row by itself, in words; none where nothing is. */
export function faultsOf(table: Table, row: NamedRow): string[] {
  const faults = Object.entries(row).flatMap(([name, value]) =>
    value === null || (COLUMN_RULES[name]?.(value) ?? true) ? [] : [`${name} is ${JSON.stringify(value)}`],
  )
  // Both are 0 where an import does not know the block.
  if (row.event_index === '0' && row.height !== '0') faults.push('event_index is "0"')
  if (table.name === 'liquidity_providers') faults.push(...providerFaults(row))
  if (table.name.endsWith('_spans') && BigInt(row.first_timestamp!) > BigInt(row.last_timestamp!)) {
    faults.push('it ends before it begins')
  }
  return faults
}

/** Whether a row comes from a block that an import does not know: one before those that it has brought. */
export function isUnplaced({ height, event_index: index }: NamedRow): boolean {
  return height === '0' && index === '0'
}

/** A provider's fee share and SLA are kept as the JSON that is answered. */
function providerFaults({ party_id: party, fee_share: feeShare, sla }: NamedRow): string[] {
  return (
    [
      ['fee_share', feeShare],
      ['sla', sla],
    ] as const
  ).flatMap(([name, json]) =>
    json === null || json === undefined || partyOf(json) === party
      ? []
      : [`${name} is not an element of this party: ${json.slice(0, 100)}`],
  )
}

function partyOf(json: string): unknown {
  try {
    return (JSON.parse(json) as { party?: unknown } | null)?.party
  } catch {
    return undefined
  }
}
