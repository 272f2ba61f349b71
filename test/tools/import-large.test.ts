import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { makeDatabase } from '../fixtures/imports/made-database.ts'
import { writeMadeSegment } from '../fixtures/imports/made-segment.ts'
import { scaled } from '../fixtures/sampling.ts'
import { runMeasured } from '../fixtures/services/run-measured.ts'
import { skip } from '../fixtures/shared.ts'
import { startPostgresServer } from '../fixtures/stores/postgres-server.ts'
import { ANY_STORE_KIND, describeOn, temporaryFolder } from '../fixtures/stores/stores.ts'

/** The memory limit of an import, whatever the size of the source. */
const MOST_BYTES = 400e6

/** In the long run more points than fit into memory for sorting. */
const BLOCKS = scaled(1_000, 60_000)
const MARKETS = 50
const EPOCH = 500

describeOn(ANY_STORE_KIND, 'a large source', (kind) => {
  test('a segment with hostile rows takes as little memory', async (t) => {
    // Objects take many times the memory of their text, as do quotes, which are doubled in it.
    for (const [shares, code] of [
      [`[${'{},'.repeat(650_000)}{}]`, 0],
      [`[${'{},'.repeat(1_500_000)}{}]`, 1],
      [`"${'"'.repeat(900_000)}"`, 0],
      [`"${'"'.repeat(3_000_000)}"`, 1],
    ] as const) {
      const folder = temporaryFolder(t)
      const source = await writeMadeSegment(folder, {
        from: 498,
        to: 502,
        markets: 2,
        shares,
        epoch: EPOCH,
      })
      const run = await runMeasured(t, ['import', source, '--store', join(folder, 'a.db')])
      assert.equal(run.code, code, run.errors.join('\n').slice(-1_000))
      assert.ok(run.memoryBytes <= MOST_BYTES, `${shares.slice(0, 3)} ${shares.length}: ${run.memoryBytes}`)
    }
  })

  for (const what of ['segment', 'database'] as const) {
    test(`a ${what} is imported in little memory`, async (t) => {
      const server = what === 'database' ? await startPostgresServer(['fsync=off']) : null
      if (what === 'database' && server === null) return skip(t, 'PostgreSQL is not installed')
      t.after(() => server?.remove())
      const source =
        server === null
          ? await writeMadeSegment(temporaryFolder(t), {
              from: 1,
              to: BLOCKS,
              markets: MARKETS,
              epoch: EPOCH,
            })
          : // It is removed with its server.
            await makeDatabase({ after: () => {} }, server.url, {
              blocks: BLOCKS,
              markets: MARKETS,
              epoch: EPOCH,
            })
      const args = ['import', source, '--json', '--log-level', 'silent', '--store', kind.create(t)]
      const { code, stdout, errors, memoryBytes } = await runMeasured(t, args)
      assert.equal(code, 0, errors.join('\n'))
      const report = JSON.parse(stdout.trimEnd().split('\n').at(-1)!) as {
        blocks: number
        rows: Record<string, number>
      }
      assert.equal(report.blocks, BLOCKS)
      assert.equal(report.rows.liquidityProviderHistory, (BLOCKS / EPOCH) * MARKETS)
      assert.ok(memoryBytes <= MOST_BYTES, `${memoryBytes} bytes`)
    })
  }
})
