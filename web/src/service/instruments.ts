import { effect, signal } from '@preact/signals'
import type { Instrument } from 'lyra-client'
import { type Unit, unitOf } from '../figures/amount.ts'
import { shortId } from '../figures/short-id.ts'
import { coverageTime, latestCoverage } from './coverage.ts'
import { lyra } from './lyra.ts'

/** States and trading modes change seldom, and are asked for again so often. */
const REFRESH_MS = 60_000

/** Instruments are read so many at a time, so many times at most. */
const PAGE_ROWS = 5_000
const MAX_PAGES = 4

/** What markets are called and how their integers are read, by id; null before that is known. */
export const instruments = signal<ReadonlyMap<string, Instrument> | null>(null)

/** Whether the instruments have been asked for: until then an amount would be shown without its unit. */
export const areInstrumentsAsked = signal(false)

/** A market's instrument; null if no event named it, or it is not loaded yet. */
export function instrumentOf(marketId: string): Instrument | null {
  return instruments.value?.get(marketId) ?? null
}

/** The unit of a market's amounts; null if it is not known. */
export function marketUnit(marketId: string): Unit | null {
  return unitOf(instrumentOf(marketId))
}

/** A market's label: its code, its name, or the ends of its id. */
export function marketLabel(marketId: string): string {
  const instrument = instrumentOf(marketId)
  return instrument?.code || instrument?.name || shortId(marketId)
}

async function read(): Promise<void> {
  const known = new Map<string, Instrument>()
  let after: string | undefined
  for (let page = 0; page < MAX_PAGES; page++) {
    const { rows, pageInfo } = await lyra.instrumentsPage({}, { first: PAGE_ROWS, after })
    for (const { node } of rows) known.set(node.marketId, node)
    if (!pageInfo.hasNextPage) break
    after = pageInfo.endCursor
  }
  instruments.value = known
}

/** Keeps the instruments up to date: as soon as there are more, else now and then. */
export function watchInstruments(): void {
  let count: string | null = null
  let readAt = 0
  effect(() => {
    const at = coverageTime()
    const storedCount = latestCoverage()?.instruments.count
    if (storedCount === undefined || at === null || (storedCount === count && at - readAt < REFRESH_MS))
      return
    count = storedCount
    readAt = at
    const asked = read().catch(() => {
      // Asked again with the next coverage; meanwhile integers are shown as they are.
      count = null
    })
    void asked.then(() => {
      areInstrumentsAsked.value = true
    })
  })
}
