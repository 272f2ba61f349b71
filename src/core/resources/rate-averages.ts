import { DAY } from '../domain/time.ts'
import type { Field } from '../model/field.ts'

/** The windows over which rates are averaged: their names, and lengths in nanoseconds. */
export const AVERAGE_WINDOWS: readonly { name: string; length: bigint }[] = [
  { name: '24h', length: DAY },
  { name: '7d', length: 7n * DAY },
  { name: '30d', length: 30n * DAY },
]

/** Average funding rates of a market. */
export const rateAverages: { nodeName: string; meaning: string; fields: readonly Field[] } = {
  nodeName: 'RateAverages',
  meaning:
    'Average funding rates per 8 hours: the sum of the rates of the periods that ended in a window before the last block, divided by the number of 8-hour intervals in it, to 16 decimal places. Null unless all periods of the window are stored and one was paid; null if blocks, or a period that later events name, are missing after the start of the latest stored period.',
  fields: AVERAGE_WINDOWS.map(({ name }) => ({
    name,
    meaning: `Over the last ${name.replace('h', ' hours').replace('d', ' days')}.`,
    form: 'text',
    ifNull: 'null',
  })),
}
