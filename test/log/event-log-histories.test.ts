import { test } from 'node:test'
import { playHistory } from '../fixtures/logs/log-history.ts'
import { LONG } from '../fixtures/sampling.ts'

/** A million would take three hours: LYRA_TEST_SEED begins elsewhere. */
const HISTORIES = LONG ? 100_000 : 10_000

test(`in ${HISTORIES.toLocaleString('en')} histories of an event log every committed block is read, whole and in order`, async (t) => {
  const startedAt = performance.now()
  const first = Number(process.env.LYRA_TEST_SEED ?? 1)
  for (let seed = first; seed < first + HISTORIES; seed++) await playHistory(seed)
  t.diagnostic(`${Math.round(HISTORIES / ((performance.now() - startedAt) / 1_000))} histories a second`)
})
