import { MARKET_STATES, TRADING_MODES } from '../../events/market-enums.ts'
import type { Field } from '../../model/field.ts'

/** A market's state at its latest market data, which the core sends with every block. */
export const marketData: { nodeName: string; meaning: string; fields: readonly Field[] } = {
  nodeName: 'MarketData',
  meaning: 'Latest data of a market.',
  fields: [
    { name: 'timestamp', meaning: 'Time of the data, Unix nanoseconds.', form: 'time' },
    {
      name: 'markPrice',
      meaning: "Mark price in the market's decimals. Empty if there is none.",
      form: 'text',
    },
    {
      name: 'openInterest',
      meaning: "Open interest in the market's position decimals.",
      form: 'integer',
    },
    {
      name: 'marketState',
      meaning: 'State of the market.',
      form: { typeName: 'MarketState', names: MARKET_STATES },
    },
    {
      name: 'tradingMode',
      meaning: 'Trading mode.',
      form: { typeName: 'TradingMode', names: TRADING_MODES },
    },
  ],
}
