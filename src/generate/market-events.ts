import { FIRST_SECOND } from './clock.ts'
import type { Context } from './context.ts'
import { EVENT_TYPES, type EventType } from './event-types.ts'
import type { Asset, Instrument } from './instruments.ts'
import { type Market, tradingOf } from './market.ts'
import { SLA_TERMS } from './provisions.ts'

/** Writes an `Asset` event. */
export function writeAsset({ out }: Context, { id, symbol, name, decimals }: Asset): void {
  const { body } = out
  out.begin(EVENT_TYPES.asset, null)
  body.content(1, id)
  const details = body.open(2)
  body.text(1, name)
  body.text(2, symbol)
  body.uint(4, decimals)
  body.text(5, '1')
  body.close(details)
  body.uint(3, 4)
  out.end()
}

/** Writes a `Market` event, created or updated, with all fields that a reader may require. */
export function writeMarket({ out }: Context, market: Market, event: EventType): void {
  const { body } = out
  const { instrument, createdAt } = market
  const { mode, state } = tradingOf(market)
  out.begin(event, null)
  body.content(1, market.id)
  const tradable = body.open(2)
  const inner = body.open(1)
  body.text(2, instrument.code)
  body.text(3, instrument.name)
  writePerpetual(out.body, instrument)
  body.close(inner)
  body.close(tradable)
  body.uint(3, instrument.decimals)
  const fees = body.open(4)
  const factors = body.open(1)
  for (const [index, factor] of ['0.0002', '0.0005', '0.001'].entries()) body.text(index + 1, factor)
  body.close(factors)
  body.close(fees)
  body.close(body.open(6))
  const monitoring = body.open(7)
  body.close(body.open(1))
  body.close(monitoring)
  body.uint(8, mode)
  body.uint(9, state)
  const timestamps = body.open(10)
  body.int64(1, createdAt)
  body.int64(3, createdAt)
  body.close(timestamps)
  body.uint(11, 2)
  const sla = body.open(18)
  body.text(1, '0.05')
  body.text(2, String(SLA_TERMS.minTimeFraction))
  body.uint(4, 1)
  body.text(5, String(SLA_TERMS.competitionFactor))
  body.close(sla)
  out.end()
}

function writePerpetual(body: Context['out']['body'], { asset, funding, paidEvery }: Instrument): void {
  const perpetual = body.open(102)
  body.content(1, asset.id)
  body.text(2, asset.symbol)
  body.text(3, '0.5')
  body.text(4, funding.interestRate)
  body.text(5, funding.clampLowerBound)
  body.text(6, funding.clampUpperBound)
  // DataSourceSpec: its definition, an internal one with a time trigger.
  const around = [7, 4, 1, 2, 2].map((field) => body.open(field))
  body.int64(1, BigInt(FIRST_SECOND))
  body.uint(2, paidEvery)
  for (const start of around.toReversed()) body.close(start)
  body.text(10, funding.scalingFactor ?? '')
  body.text(11, funding.lowerBound ?? '')
  body.text(12, funding.upperBound ?? '')
  body.close(perpetual)
}
