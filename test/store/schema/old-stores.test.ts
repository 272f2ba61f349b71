import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { checkStore } from '#tools/check/check-store'
import { type OldAnswers, readOldAnswers, restoreOldStore } from '../../fixtures/old-stores/old-store.ts'
import { send } from '../../fixtures/requests/http.ts'
import { listen } from '../../fixtures/requests/listen.ts'
import { ingest, serve, storeOf } from '../../fixtures/services/service.ts'
import { NAMED_SAMPLE, SAMPLE } from '../../fixtures/shared.ts'
import { checkWithFiles } from '../../fixtures/stores/check.ts'
import { assertSameDump, dumpStore, type StoreDump } from '../../fixtures/stores/dump-store.ts'
import { openStore, STORE_KINDS } from '../../fixtures/stores/stores.ts'
import { until } from '../../fixtures/until.ts'

/** The part of an answer that both versions share: later cursors may differ, and instruments have more fields. */
function knownPartOf(body: string): unknown {
  return JSON.parse(body, (key, value) => (/cursor$|^schedule$|^sla$/i.test(key) ? undefined : value))
}

const byText = (a: unknown, b: unknown) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)

/** The first rows that a stream sends after an id. */
async function rowsAfter(base: string, target: string, id: string, count: number): Promise<string[]> {
  const { events, cut } = await listen(base, target, id)
  const rows = () => events.map(({ data }) => data).filter((data) => data !== '')
  await until(() => rows().length >= count, `rows of ${target} after ${id}`)
  cut()
  return rows().slice(0, count)
}

/** The events of a stream that carry a row. */
const rowsOf = ({ events }: OldAnswers['streams'][number]) => events.filter(({ data }) => data !== undefined)

/** Market summaries have changed since version 0.2.0: only their cursors must be accepted. */
const isSummary = (target: string) => target.startsWith('/api/v2/market-summaries')

/** The index at which a stream continues after a row's id, which all rows of an event share. */
function indexAfter(rows: readonly { id?: string }[], at: number): number {
  const first = rows.findIndex(({ id }) => id === rows[at]!.id)
  return rows[first + 1]?.id === rows[first]!.id ? first : at + 1
}

for (const kind of STORE_KINDS) {
  // Version 0.1.0 ingested the SQLite file from the first recording; 0.2.0 added the instruments of the second.
  const files = kind.name === 'sqlite' ? SAMPLE : NAMED_SAMPLE

  describe(`a store of version 0.2.0 (${kind.name})`, () => {
    test('returns every answer of that version, and accepts its cursors', async (t) => {
      const base = await serve(t, await restoreOldStore(t, kind))
      for (const { target, status, height, timestamp, body } of readOldAnswers().answers) {
        const answer = await send(base, target)
        assert.equal(answer.status, status, target)
        assert.equal(answer.headers['x-block-height'], height, target)
        assert.equal(answer.headers['x-block-timestamp'], timestamp, target)
        if (isSummary(target)) continue
        assert.deepEqual(knownPartOf(answer.text), knownPartOf(body), target)
      }
    })

    test('continues the streams of the version after their ids', async (t) => {
      const base = await serve(t, await restoreOldStore(t, kind))
      for (const stream of readOldAnswers().streams) {
        const rows = rowsOf(stream)
        assert.ok(rows.length > 1, stream.target)
        for (const at of [0, Math.floor(rows.length / 2)]) {
          const from = indexAfter(rows, at)
          const expected = rows.slice(from, from + 6)
          if (expected.length === 0) continue
          const found = await rowsAfter(base, stream.target, rows[at]!.id!, expected.length)
          assert.deepEqual(
            found.map(knownPartOf).sort(byText),
            expected.map(({ data }) => knownPartOf(data!)).sort(byText),
            `${stream.target} after ${rows[at]!.id}`,
          )
        }
      }
    })

    test('has the series of a new store, passes the check against its files, and ingesting these again changes nothing', async (t) => {
      const old = await restoreOldStore(t, kind)
      await openStore(old).migrate()
      // As after any upgrade: new tables are not distributed yet.
      if (kind.name === 'citus') await openStore(old).distribute!()
      const made = await storeOf(t, kind, files)
      const { told, compared } = await checkWithFiles(old, files)
      assert.deepEqual(
        told.filter(({ where }) => !/^(instruments|assets) /.test(where)),
        [],
      )
      assert.equal(compared!.heights.length, 1)
      const [ours, theirs] = [await checkStore(openStore(old)), await checkStore(openStore(made))]
      for (const table of ['funding_period_series_made', 'funding_period_series'])
        assert.equal(ours.rows[table], theirs.rows[table], table)
      const dump = async (store: string): Promise<StoreDump> => ({
        ...(await dumpStore(store)),
        // Version 0.1.0 did not store the hashes of block 1's parts.
        stream: [],
        instruments: [],
        assets: [],
      })
      const [migrated, expected] = [await dump(old), await dump(made)]
      // Nor did it store the places of periods' starts; neither version stored market data or instrument terms.
      // Positions of providers up to the migration are noted as those of an older version.
      const notes = { since: [], old_positions: [] }
      const unknown = { market_data: [], instrument_terms: [], funding_periods: [], ...notes }
      const startless = (rows: readonly string[]) =>
        rows.map((row) => JSON.stringify(JSON.parse(row).toSpliced(3, 2)))
      assert.deepEqual(startless(migrated.funding_periods!), startless(expected.funding_periods!))
      assertSameDump({ ...migrated, ...unknown }, { ...expected, ...unknown }, 'migrated')
      const report = await ingest(old, files)
      assert.equal(report.blocks, 0)
      assertSameDump(await dump(old), migrated, 'migrated and ingested again')
    })
  })
}
