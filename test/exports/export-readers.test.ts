import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, readFileSync, statSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { storeOfGenerated } from '../fixtures/events/large-stream.ts'
import { ndjsonRows, send } from '../fixtures/requests/http.ts'
import { ended, startProgram } from '../fixtures/services/program.ts'
import { PYTHON, skipsWithoutPython } from '../fixtures/services/python.ts'
import { serve } from '../fixtures/services/service.ts'
import { skip } from '../fixtures/shared.ts'
import { createLiveStore, type LiveStore, pointAt } from '../fixtures/stores/live-store.ts'
import { ANY_STORE_KIND, temporaryFolder } from '../fixtures/stores/stores.ts'

const CLIENTS = join(import.meta.dirname, '../clients')
/** A Python with DuckDB before version 2, and its extension for HTTP. */
const DUCKDB_PYTHON = process.env.LYRA_DUCKDB_PYTHON ?? 'python3'

const PAYMENTS = '/api/v2/export/funding-payments'

type Found = { rows: number; total: string; last: number }

/** What every reader is to find of the payments of a service. */
async function paymentsOf(base: string): Promise<Found> {
  const rows = ndjsonRows((await send(base, `${PAYMENTS}?format=ndjson`)).text).map(
    ({ node }) => node as { timestamp: string; amount: string },
  )
  return {
    rows: rows.length,
    total: String(rows.reduce((sum, { amount }) => sum + BigInt(amount), 0n)),
    last: Number(rows.map(({ timestamp }) => BigInt(timestamp)).reduce((a, b) => (a > b ? a : b))),
  }
}

/** Runs a reader while blocks arrive, one each tenth of a second. */
async function readWhileWriting(live: LiveStore, read: () => Promise<void>): Promise<void> {
  let isReading = true
  const writing = (async () => {
    while (isReading) {
      const height = live.height + 1
      await live.commit(height, [pointAt(height)])
      await delay(100)
    }
  })()
  try {
    await read()
  } finally {
    isReading = false
    await writing
  }
}

async function jsonOf<Result>(t: TestContext, program: string, args: string[]): Promise<Result> {
  const { code, stdout, stderr } = await ended(startProgram(t, program, args))
  assert.equal(code, 0, stderr)
  return JSON.parse(stdout)
}

for (const kind of ANY_STORE_KIND) {
  test(`Exports are read by their address with polars, pandas and pyarrow (${kind.name})`, async (t) => {
    if (skipsWithoutPython(t, 'polars', 'pandas', 'pyarrow')) return
    const base = await serve(t, await storeOfGenerated(t, kind, { blocks: 2_000, events: 0 }), {
      inThreads: true,
    })
    const { found, types } = await jsonOf<{ found: Record<string, Found>; types: object }>(t, PYTHON, [
      join(CLIENTS, 'read_exports.py'),
      base,
      'funding-payments',
      'amount',
      'timestamp',
    ])
    const expected = await paymentsOf(base)
    assert.ok(expected.rows > 50)
    for (const [reader, seen] of Object.entries(found)) {
      // JSON's numbers and double precision do not hold all digits of a time.
      assert.deepEqual({ ...seen, last: Number(seen.last) }, expected, reader)
    }
    assert.deepEqual(types, {
      amount: 'decimal128(38, 0)',
      timestamp: 'timestamp[ns, tz=UTC]',
      micros: 'timestamp[us, tz=UTC]',
      local: 'timestamp[ns]',
      text: 'string',
    })
  })

  test(`Exports are read by their address with DuckDB before 2 (${kind.name})`, async (t) => {
    const has = spawnSync(DUCKDB_PYTHON, ['-c', 'import duckdb_extension_httpfs']).status === 0
    if (!has) {
      skip(t, 'duckdb-extension-httpfs is not installed; LYRA_DUCKDB_PYTHON may name a Python that has it')
      return
    }
    const base = await serve(t, await storeOfGenerated(t, kind, { blocks: 2_000, events: 0 }))
    const found = await jsonOf<Record<string, Found>>(t, DUCKDB_PYTHON, [
      join(CLIENTS, 'read_exports_duckdb.py'),
      base,
      'funding-payments',
      'amount',
      'timestamp',
    ])
    const expected = await paymentsOf(base)
    for (const [source, seen] of Object.entries(found)) {
      // It cuts times in UTC to microseconds.
      const cut = source.endsWith(".parquet'") ? expected.last - (expected.last % 1_000) : expected.last
      assert.deepEqual(seen, { ...expected, last: cut }, source)
    }
    assert.equal(Object.keys(found).length, 4)
  })

  test(`Exports are read by their address with R (${kind.name})`, async (t) => {
    if (spawnSync('Rscript', ['--version']).error !== undefined) {
      skip(t, 'R is not installed')
      return
    }
    const base = await serve(t, await storeOfGenerated(t, kind, { blocks: 1_000, events: 0 }))
    const { code, stdout, stderr } = await ended(
      startProgram(t, 'Rscript', [
        join(CLIENTS, 'read_exports.R'),
        `${base}/api/v2/export/funding-periods.csv`,
        'seq',
      ]),
    )
    assert.equal(code, 0, stderr)
    const rows = ndjsonRows((await send(base, '/api/v2/export/funding-periods')).text)
    const sum = rows.reduce((total, { node }) => total + Number((node as { seq: string }).seq), 0)
    assert.equal(stdout.trim(), `${rows.length} ${sum} ${rows.at(-1)!.cursor}`)
  })

  test(`A file is read range by range while blocks arrive (${kind.name})`, async (t) => {
    if (skipsWithoutPython(t, 'polars')) return
    const { store, live } = await createLiveStore(t, kind)
    await live.commit(
      1,
      Array.from({ length: 20_000 }, (_, late) => pointAt(1, { late })),
    )
    const base = await serve(t, store, { inThreads: true })
    await readWhileWriting(live, async () => {
      for (let time = 0; time < 5; time++) {
        const { rows, sum } = await jsonOf<{ rows: number; sum: number }>(t, PYTHON, [
          '-c',
          `import json, sys, polars
address = sys.argv[1]
rows = polars.scan_parquet(address).select(polars.len()).collect().item()
sum = polars.scan_parquet(address).select(polars.col("seq").sum()).collect().item()
print(json.dumps({"rows": rows, "sum": sum}))`,
          `${base}/api/v2/export/funding-period-data-points.parquet`,
        ])
        assert.ok(rows >= 20_000)
        // One more point for each block after the first.
        const later = Array.from({ length: rows - 20_000 }, (_, index) => Number(pointAt(2 + index).seq))
        assert.equal(
          sum,
          later.reduce((total, seq) => total + seq, 20_000),
        )
      }
    })
  })

  test(`A download that broke off is resumed by curl while blocks arrive (${kind.name})`, async (t) => {
    if (spawnSync('curl', ['--version']).error !== undefined) {
      skip(t, 'curl is not installed')
      return
    }
    const { store, live } = await createLiveStore(t, kind)
    await live.commit(
      1,
      Array.from({ length: 20_000 }, (_, late) => pointAt(1, { late })),
    )
    const base = await serve(t, store, { inThreads: true })
    const path = '/api/v2/export/funding-period-data-points.csv'
    const target = `${base}${path}`
    const out = join(temporaryFolder(t), 'points.csv')
    await readWhileWriting(live, async () => {
      const [answer] = (await once(get(target, { agent: false }), 'response')) as [IncomingMessage]
      const file = createWriteStream(out)
      for await (const piece of answer) {
        file.write(piece)
        if (file.bytesWritten > 500_000) break
      }
      answer.destroy()
      file.end()
      await once(file, 'finish')
      const broken = statSync(out).size
      await delay(500)
      const resumed = await ended(startProgram(t, 'curl', ['-sS', '-C', '-', '-o', out, target]))
      assert.equal(resumed.code, 0, resumed.stderr)
      assert.ok(broken < statSync(out).size)
      const whole = await send(base, path)
      assert.ok(readFileSync(out).equals(whole.body))
      const later = await send(base, `${path}?pagination.newestFirst=true`)
      assert.ok(later.body.length > whole.body.length, 'blocks have arrived')
    })
  })
}
