import { amount, type Expression, text, type ViewColumn } from './columns.ts'
import type { ViewDialect } from './dialect.ts'

/** A view for people who write SQL. */
export type View = {
  name: string
  /** What a row is, in a sentence. */
  meaning: string
  columns: readonly ViewColumn[]
  /** The text after the selected columns. */
  from: (dialect: ViewDialect) => string
}

/** The instrument and the settlement asset of each row of a table, if they are known. */
export const withMarket = (table: string) =>
  `left join instruments on instruments.market_id = ${table}.market_id
  left join assets on assets.asset_id = instruments.settlement_asset`

/** The market of a row of a table. */
export const market = (table: string): ViewColumn[] => [
  text('market_id', 'The market.', `${table}.market_id`),
  text('market_code', 'Its short name, such as `BTC/PERP`.', 'instruments.code'),
]

/** The party of a row of a table. */
export const party = (table: string) => text('party_id', 'The party.', `${table}.party_id`)

/** The settlement asset of the market. */
export const asset: readonly ViewColumn[] = [
  text('asset_id', 'The asset of the amounts.', 'instruments.settlement_asset'),
  text('asset_symbol', 'Its symbol.', 'assets.symbol'),
]

/** An amount of an asset, of which the view joins the event. */
export const ofAsset = (name: string, meaning: string, expression: Expression) =>
  amount(name, `${meaning}, in the smallest unit of the asset.`, expression, 'assets.decimals')

/** Whether a row is from an earlier event than another one. */
export const isBefore = (a: string, b: string) =>
  `(${a}.height < ${b}.height or (${a}.height = ${b}.height and ${a}.event_index < ${b}.event_index))`
