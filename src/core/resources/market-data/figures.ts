import type { MarketFigures, PerpetualData } from '../../events/event.ts'
import { isStorableNumber } from '../../events/left-out.ts'
import { MARKET_STATES, TRADING_MODES } from '../../events/market-enums.ts'
import {
  int64Field,
  readerOf,
  textField,
  textFieldOrNull,
  uint32Field,
  uint64Field,
} from '../../events/message-fields.ts'
import { MalformedMessageError, type WireReader } from '../../events/wire-reader.ts'

const readPerpetual = readerOf<PerpetualData>({
  fundingPayment: textFieldOrNull(1),
  fundingRate: textFieldOrNull(2),
  internalTwap: textFieldOrNull(3),
  externalTwap: textFieldOrNull(4),
  seq: uint64Field(5),
  start: int64Field(6),
})

/** A product's data; only those of a perpetual are read. */
const readProductData = readerOf<Pick<MarketFigures, 'perpetual'>>(
  {},
  {
    31: (reader, data) => {
      data.perpetual = readPerpetual(reader, data.perpetual ?? noPerpetualData())
    },
  },
)

const readFigures = readerOf<MarketFigures>(
  {
    markPrice: textField(1),
    timestamp: int64Field(13),
    openInterest: uint64Field(14),
    tradingMode: uint32Field(19),
    state: uint32Field(27),
  },
  {
    31: (reader, figures) => {
      figures.perpetual = readProductData(reader, { perpetual: null }).perpetual ?? figures.perpetual
    },
  },
)

function noPerpetualData(): PerpetualData {
  return {
    fundingPayment: null,
    fundingRate: null,
    internalTwap: null,
    externalTwap: null,
    seq: 0n,
    start: 0n,
  }
}

/** The figures of the market data that the reader is set to. Malformed bytes end them; the lists are not affected. */
export function decodeFigures(reader: WireReader): MarketFigures {
  const figures: MarketFigures = {
    timestamp: 0n,
    markPrice: '',
    openInterest: 0n,
    state: 0,
    tradingMode: 0,
    perpetual: null,
    isMalformed: false,
  }
  try {
    readFigures(reader, figures)
  } catch (error) {
    if (!(error instanceof MalformedMessageError)) throw error
    figures.isMalformed = true
  }
  return storableFigures(figures)
}

/** Figures without the values that cannot be stored. Market data are never left out because of figures. */
export function storableFigures(figures: MarketFigures): MarketFigures {
  const { markPrice, state, tradingMode } = figures
  return {
    ...figures,
    markPrice: isStorableNumber(markPrice) ? markPrice : '',
    state: state < MARKET_STATES.length ? state : 0,
    tradingMode: tradingMode < TRADING_MODES.length ? tradingMode : 0,
  }
}
