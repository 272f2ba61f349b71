import { join } from 'node:path'
import { type Figure, figure } from './figures.ts'
import { generatedFile, WORK } from './files.ts'
import { removeStore } from './intake.ts'
import { MAIN, runForJson } from './processes.ts'

/** Blocks of one tenth: about 2,000,000 events, one in ten a data point. */
const BLOCKS = 100_000
const TENTHS = 10

/** The rate of the last tenth of 20,000,000 events, taken into one store, beside that of the second tenth. */
export async function measureGrowth(): Promise<Figure[]> {
  const store = join(WORK, 'growth.db')
  removeStore(store)
  const rates: number[] = []
  for (let tenth = 0; tenth < TENTHS; tenth++) {
    const file = await generatedFile({
      blocks: BLOCKS,
      points: 2,
      events: 11,
      start: 1 + tenth * BLOCKS,
    })
    const { records, seconds } = await runForJson<{ records: number; seconds: number }>(MAIN, [
      ...['ingest', '--json', '--log-level', 'silent', '--store', store, file],
    ])
    rates.push(records / seconds)
  }
  removeStore(store)
  return [
    figure('intake of 20,000,000 events: the last tenth', rates.at(-1)!, 'events/s', {
      limit: { name: 'the second tenth', value: rates[1]! },
      target: { least: 0.9 },
    }),
  ]
}
