import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import { RESOURCES } from '#core/resources/resources'
import { createLyraClient } from '../../client/src/index.ts'
import { storeOfGenerated } from '../fixtures/events/large-stream.ts'
import { send } from '../fixtures/requests/http.ts'
import { runWell } from '../fixtures/services/program.ts'
import { PYTHON, skipsWithoutPython } from '../fixtures/services/python.ts'
import { capturedLog, NO_FILES, serve } from '../fixtures/services/service.ts'
import {
  createLiveStore,
  LIVE_MARKET,
  periodEvent,
  pointAt,
  serveLive,
  timeOf,
} from '../fixtures/stores/live-store.ts'
import { describeOn, STORE_KINDS, temporaryFolder } from '../fixtures/stores/stores.ts'
import { until } from '../fixtures/until.ts'

describeOn(STORE_KINDS, 'Parquet over HTTP', (kind) => {
  test('is the file that lyra export writes, for every resource and selection', async (t) => {
    const store = await storeOfGenerated(t, kind, { blocks: 250, events: 0 })
    const base = await serve(t, store, { inThreads: true })
    const marketId = (await send(base, '/api/v2/instruments?pagination.first=1')).text.match(
      /[0-9a-f]{64}/,
    )![0]
    const [payment] = (await send(base, '/api/v2/export/funding-payments')).text.split('\n')
    const { partyId } = JSON.parse(payment!)
    const folder = temporaryFolder(t)
    for (const { kebabName, name, path, scope, filters, required } of RESOURCES) {
      const byParty = required.list?.join() === 'partyId'
      const byMarket = !byParty && (scope !== null || filters.some((filter) => filter.name === 'marketId'))
      const query = `format=parquet${scope === null ? `&marketId=${marketId}` : ''}`
      const exported = `/api/v2/export/${kebabName}?format=parquet`
      const requests: [target: string, options: string][] = [
        [exported, '--oldest-first'],
        byMarket
          ? [`${path.replace(':marketId', marketId)}?${query}`, `--market ${marketId}`]
          : byParty
            ? [`${path}?format=parquet&partyId=${partyId}`, `--party ${partyId}`]
            : [`${path}?format=parquet&pagination.newestFirst=false`, '--oldest-first'],
        ...(byMarket
          ? [[`${exported}&marketId=${marketId}`, `--oldest-first --market ${marketId}`] as [string, string]]
          : []),
      ]
      for (const [index, [target, options]] of requests.entries()) {
        const out = join(folder, `${kebabName}-${index}.parquet`)
        await runWell(t, `export ${kebabName} --store ${store} --format parquet --out ${out} ${options}`)
        const answer = await send(base, target)
        assert.equal(answer.status, 200, answer.text.slice(0, 300))
        assert.ok(answer.body.equals(readFileSync(out)), `${target}: ${answer.body.length} bytes`)
        assert.equal(answer.headers['content-type'], 'application/vnd.apache.parquet')
        assert.equal(answer.headers['content-disposition'], `attachment; filename="${name}.parquet"`)
        const head = await send(base, target, { method: 'HEAD' })
        assert.deepEqual([head.status, head.body.length], [200, 0])
      }
    }
  })

  test('has many row groups, and every row in them once, in order', async (t) => {
    if (skipsWithoutPython(t, 'duckdb')) return
    const { store, live } = await createLiveStore(t, kind)
    for (let block = 0; block < 5; block++)
      await live.commit(
        block + 1,
        Array.from({ length: 3_000 }, (_, index) => pointAt(block * 3_000 + index)),
      )
    const base = await serve(t, store, { inThreads: true })
    const lyra = createLyraClient({ url: base })
    const response = await fetch(lyra.exportUrl('fundingPeriodDataPoints', {}, { format: 'parquet' }))
    const file = join(temporaryFolder(t), 'points.parquet')
    writeFileSync(file, Buffer.from(await response.arrayBuffer()))
    const program = `
import duckdb, sys
print(duckdb.execute("select count(distinct row_group_id) from parquet_metadata(?)", [sys.argv[1]]).fetchone()[0])
for row in duckdb.execute('select epoch_ns("timestamp"), price from read_parquet(?)', [sys.argv[1]]).fetchall(): print(*row)`
    const read = spawnSync(PYTHON, ['-c', program, file], { encoding: 'utf8', maxBuffer: 1 << 26 })
    assert.equal(read.status, 0, read.stderr)
    const [groups, ...rows] = read.stdout.trim().split('\n')
    assert.equal(groups, '4')
    const { text } = await send(base, '/api/v2/export/funding-period-data-points')
    const sent = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { timestamp: string; price: string })
    assert.deepEqual(
      rows,
      sent.map(({ timestamp, price }) => `${timestamp} ${price}`),
    )
    assert.equal(rows.length, 15_000)
  })

  test('is refused for a number that no decimal holds, or breaks off there, and says what to do', async (t) => {
    const period = (seq: number, fundingPayment: string) =>
      periodEvent({
        fundingPayment,
        fundingRate: '0.1',
        seq: BigInt(seq),
        start: timeOf(seq),
        end: timeOf(seq + 1),
      })
    const { logger, lines } = capturedLog('info')
    const options = { inThreads: true, logger, limits: NO_FILES }
    const { live, base } = await serveLive(t, kind, [period(1, '0.5')], options)
    const target = '/api/v2/export/funding-periods?format=parquet'
    const fault = new RegExp(
      `funding periods: fundingPayment is "0\\.5" in the row market ${LIVE_MARKET}, start_timestamp ${timeOf(1)}, seq 1, which is not a decimal\\(38, 0\\); add numbers=text, which writes these columns as text`,
    )
    const { status, text } = await send(base, target)
    assert.equal(status, 400)
    assert.match(JSON.parse(text).message, fault)
    assert.equal((await send(base, target.replace('parquet', 'csv'))).status, 200)
    assert.equal((await send(base, `${target}&numbers=text`)).status, 200)
    // Rows before it are sent by then.
    await live.commit(
      2,
      Array.from({ length: 5_000 }, (_, index) => ({ ...period(index + 2, '7'), start: BigInt(index) })),
    )
    const [response] = (await once(get(`${base}${target}`, { agent: false }), 'response')) as [
      IncomingMessage,
    ]
    assert.equal(response.statusCode, 200)
    await assert.rejects(Array.fromAsync(response), /aborted/)
    // It is logged once the connection is broken.
    await until(() => lines.length > 0, 'its line')
    assert.match(JSON.parse(lines.join('')).msg, fault)
  })
})
