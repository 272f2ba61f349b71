import { liquidityProviders } from '../../resources/liquidity-providers/description.ts'
import { integer, integerOf, number, text, textOf, time } from './columns.ts'
import type { ViewDialect } from './dialect.ts'
import { asset, isBefore, market, ofAsset, party, type View, withMarket } from './view.ts'

const providerJson =
  (column: string, field: string) =>
  ({ jsonText }: ViewDialect) =>
    jsonText(`liquidity_providers.${column}`, field)

const feeShare = (field: string) => providerJson('fee_share', field)
const sla = (field: string) => providerJson('sla', field)

/** Not `*`, which would keep all columns of the table from being changed. */
const HISTORY_COLUMNS =
  'market_id, party_id, epoch, timestamp, height, has_figures, time_on_book, fee_penalty, bond_penalty, required_liquidity, equity_like_share'

/** A figure of the history, which rows with only fees do not have. */
const figure = (column: string) => `case when history.has_figures then history.${column} end`

/**
 * What a provider was paid for an epoch: of several events with fees of one epoch the first counts, unless the row is
 * older.
 */
const FEES_OF_HISTORY = `
      select fees.amount from paid_liquidity_fees as fees
      where fees.market_id = liquidity_provider_history.market_id
        and fees.epoch = liquidity_provider_history.epoch and fees.party_id = liquidity_provider_history.party_id
        and not ${isBefore('liquidity_provider_history', 'fees')}
        and not exists (
          select 1 from paid_liquidity_fees as earlier
          where earlier.market_id = fees.market_id and earlier.epoch = fees.epoch and ${isBefore('earlier', 'fees')}
        )`

/** What a provider was paid for an epoch, from the JSON of an event. */
const feeOf =
  (field: string) =>
  ({ jsonText }: ViewDialect) =>
    jsonText('fee.value', field)

/** Liquidity providers, and what they were paid. */
export const LIQUIDITY_VIEWS: readonly View[] = [
  {
    name: 'v_providers',
    meaning: 'A party with a live provision on a market, with the figures of the latest market data.',
    columns: [
      ...market('liquidity_providers'),
      party('liquidity_providers'),
      ...number('equity_like_share', 'Its share of the market.', feeShare('equityLikeShare')),
      ...ofAsset(
        'average_entry_valuation',
        'Average market value at which it committed',
        feeShare('averageEntryValuation'),
      ),
      ...number('average_score', 'Its average liquidity score.', feeShare('averageScore')),
      ...ofAsset(
        'virtual_stake',
        "Its commitment plus its share of the market's growth since",
        feeShare('virtualStake'),
      ),
      ...number(
        'time_on_book',
        'Fraction of the current epoch on the book; null without an SLA, as all that follows.',
        sla('currentEpochFractionOfTimeOnBook'),
      ),
      ...number(
        'last_epoch_time_on_book',
        'The same for the last completed epoch.',
        sla('lastEpochFractionOfTimeOnBook'),
      ),
      ...number(
        'last_epoch_fee_penalty',
        'Fraction of its fees lost for the last epoch.',
        sla('lastEpochFeePenalty'),
      ),
      ...number(
        'last_epoch_bond_penalty',
        'Fraction of its bond lost for the last epoch.',
        sla('lastEpochBondPenalty'),
      ),
      textOf(
        'hysteresis_period_fee_penalties',
        'Fee penalties of the earlier epochs that still count, as a JSON list.',
        sla('hysteresisPeriodFeePenalties'),
      ),
      ...ofAsset('required_liquidity', 'Amount to be offered on each side', sla('requiredLiquidity')),
      ...ofAsset('notional_volume_buys', 'Volume of its buy orders that counts', sla('notionalVolumeBuys')),
      ...ofAsset(
        'notional_volume_sells',
        'Volume of its sell orders that counts',
        sla('notionalVolumeSells'),
      ),
      ...asset,
    ],
    from: () => `from liquidity_providers
  ${withMarket('liquidity_providers')}
where ${liquidityProviders.storage.condition}`,
  },
  {
    name: 'v_provider_history',
    meaning: 'How a liquidity provider did on a market in an epoch that has ended.',
    columns: [
      ...market('history'),
      party('history'),
      integer('epoch', 'Number of the epoch.', 'history.epoch'),
      ...time(
        'timestamp',
        'Time of the block in which the epoch ended, or in which its last fees were paid if the market settled before.',
        'history.timestamp',
      ),
      integer('at_block', 'Height of that block.', 'history.height'),
      ...number(
        'time_on_book',
        'Fraction of the epoch on the book; null without an SLA, as penalties and required liquidity.',
        figure('time_on_book'),
      ),
      ...number('fee_penalty', 'Fraction of its fees lost for the epoch.', figure('fee_penalty')),
      ...number('bond_penalty', 'Fraction of its bond lost for the epoch.', figure('bond_penalty')),
      ...ofAsset('required_liquidity', 'Amount to be offered on each side', figure('required_liquidity')),
      ...number('equity_like_share', 'Its share of the market.', 'history.equity_like_share'),
      ...ofAsset(
        'fees_paid',
        'Its fees for the epoch before the fee penalty, null if the core sent none',
        'history.fees_paid',
      ),
      ...asset,
    ],
    from: () => `from (
    select ${HISTORY_COLUMNS}, (${FEES_OF_HISTORY}) as fees_paid
    from liquidity_provider_history
  ) as history
  ${withMarket('history')}
where history.has_figures or history.fees_paid is not null`,
  },
  {
    name: 'v_paid_fees',
    meaning:
      'What a market paid to a liquidity provider for an epoch, from an event with the fees of all its providers. An event that names none has one row, without party and amount.',
    columns: [
      ...market('fees'),
      text('asset_id', 'The asset of the amounts.', 'fees.asset_id'),
      text('asset_symbol', 'Its symbol.', 'assets.symbol'),
      integer('epoch', 'Number of the epoch.', 'fees.epoch'),
      integer('at_block', 'Height of the block with the event.', 'fees.height'),
      integerOf('event_index', 'Index of the event in the block.', 'fees.event_index'),
      textOf('party_id', 'The party.', feeOf('party')),
      ...ofAsset('amount', 'Its fees before the fee penalty', feeOf('amount')),
      ...ofAsset(
        'total_fees_paid',
        'The fees of all parties of the event, repeated in each of its rows',
        'fees.total_fees_paid',
      ),
    ],
    from: ({ joinElements }) => `from paid_liquidity_fees_stats as fees
  left join instruments on instruments.market_id = fees.market_id
  left join assets on assets.asset_id = fees.asset_id
  ${joinElements('fees.fees_paid_per_party', 'fee')}`,
  },
]
