import assert from 'node:assert/strict'
import { test } from 'node:test'
import { printable } from '#core/domain/printable'
import { liquidityProviders } from '#core/resources/liquidity-providers/description'
import { TEXT_FORMATS } from '#service/formats/text-formats'
import { assertSays } from '../../fixtures/assert-says.ts'
import { checkpoint, fileOf, idOf } from '../../fixtures/events/event-stream.ts'
import { send } from '../../fixtures/requests/http.ts'
import { MAIN, runLyra, startProgram } from '../../fixtures/services/program.ts'
import { ingest, serve, storeOf } from '../../fixtures/services/service.ts'
import { CHECKPOINTS, POINTS, SAMPLE, skip } from '../../fixtures/shared.ts'
import { ANY_STORE_KIND, describeOn, fileWith, runSql } from '../../fixtures/stores/stores.ts'

/** Clears a terminal's screen, breaks the line, reverses text; the last one starts a sequence in one byte. */
const HOSTILE = 'a\x1b[2J\r\nb\u202ec\x9bd'
const ESCAPED = 'a\\u001b[2J\\u000d\\u000ab\\u202ec\\u009bd'

/** Whether a text contains a control character other than a line feed. */
const RAW = /[^\P{Cc}\n]|[\u202a-\u202e\u2066-\u2069]/u

describeOn(ANY_STORE_KIND, 'event texts that attack a terminal or a spreadsheet', (kind) => {
  test('reach a terminal escaped: status, check, ingest and their logs', async (t) => {
    const store = kind.create(t)
    const path = fileWith(t, fileOf({ height: 7, chain: HOSTILE, events: [checkpoint()] }))
    await ingest(store, path)
    const status = await runLyra(t, `status --store ${store}`)
    assertSays(status.stdout, ESCAPED)
    const check = await runLyra(t, `check --store ${store} ${SAMPLE}`)
    assert.equal(check.code, 1)
    assertSays(check.stdout, ESCAPED)
    const ingestion = await runLyra(t, `ingest --store ${store} ${SAMPLE}`)
    assert.equal(ingestion.code, 1)
    assertSays(ingestion.stderr, 'but the store contains chain')
    for (const { stdout, stderr } of [status, check, ingestion]) {
      assert.doesNotMatch(stdout, RAW)
      assert.doesNotMatch(stderr, RAW)
    }
  })

  test('reach a terminal escaped from an export, one line a row, and a pipe unchanged', async (t) => {
    if (process.platform !== 'linux') return skip(t, "the terminal is created by util-linux's script")
    const store = kind.create(t)
    const path = fileWith(t, fileOf({ height: 7, events: [checkpoint({ hash: HOSTILE })] }))
    await ingest(store, path)
    for (const [format, lines] of [
      ['csv', 2],
      ['ndjson', 1],
    ] as const) {
      const args = `export checkpoints --store '${store}' --format ${format}`
      const command = `'${process.execPath}' '${MAIN}' ${args}`
      const terminal = await startProgram(t, 'script', ['-qec', command, '/dev/null']).outcome
      const shown = terminal.stdout.replaceAll('\r\n', '\n')
      assert.match(shown, /a\\u001b\[2J.*b\\u202ec\\u009bd/)
      assert.doesNotMatch(shown, RAW)
      assert.equal(shown.split('\n').length, lines + 1, shown)
      const { stdout } = await runLyra(t, args.replaceAll("'", ''))
      assertSays(stdout, 'b\u202ec\x9bd')
    }
  })

  test('that look like formulas, or contain separators, are a cell of text in CSV, and unchanged in ndjson', async (t) => {
    const formulas = ['=1+1', '+1-x', '-1+x', '@sum(1)', '\tx', '\r=x', '\n=1', ' =1+1', '＝cmd|x', '－1+x']
    const texts = [...formulas, "a;=cmd|' /C calc'!A0", 'a\t=1+1']
    const store = kind.create(t)
    const events = texts.map((hash, at) => checkpoint({ hash, atBlock: at + 1 }))
    await ingest(store, fileWith(t, fileOf({ height: 99, events })))
    const base = await serve(t, store)
    const csv = (await send(base, `${CHECKPOINTS}?format=csv`)).text
    const ndjson = (await send(base, `${CHECKPOINTS}?format=ndjson&pagination.newestFirst=false`)).text
    for (const [at, hash] of texts.entries()) {
      const text = formulas.includes(hash) ? `'${hash}` : hash
      const cell = /[\t\r\n;]/.test(hash) ? `"${text}"` : text
      assertSays(csv, `\r\n${at + 1},${cell},`)
      assert.equal(JSON.parse(ndjson.split('\n')[at]!).hash, hash)
    }
  })

  test('longer than allowed now are still served by a store that has them, and the check names them', async (t) => {
    const store = await storeOf(t, kind, SAMPLE)
    const price = '7'.repeat(5_000)
    await runSql(store, `update funding_period_data_points set price = '${price}'`)
    await runSql(
      store,
      `update funding_period_series set price_first = '${price}', price_last = '${price}', price_minimum = null, price_maximum = null`,
    )
    await runSql(store, `update checkpoints set block_hash = '${'f'.repeat(5_000)}'`)
    const base = await serve(t, store)
    const points = (await send(base, `${POINTS}?pagination.first=1`)).text
    assert.ok(points.includes(`"${price}"`), points.slice(0, 300))
    assert.ok((await send(base, CHECKPOINTS)).text.includes('f'.repeat(5_000)))
    const { code, stdout } = await runLyra(t, `check --store ${store}`)
    assert.equal(code, 1)
    assertSays(stdout, 'block_hash has 5,000 bytes, but an event can bring only')
  })

  test('a trigger or a view that is not the store’s own is found by check', async (t) => {
    const store = await storeOf(t, kind, SAMPLE)
    await runSql(
      store,
      kind.name === 'sqlite'
        ? `create view mine as select 1; create index own on checkpoints (hash);
             create trigger "own\x1b[2J" after insert on checkpoints begin delete from checkpoints; end`
        : `create function nothing() returns trigger language plpgsql as 'begin return null; end';
             create trigger "own\x1b[2J" before insert on checkpoints for each row execute function nothing()`,
    )
    const { code, stdout } = await runLyra(t, `check --store ${store}`)
    assert.equal(code, 1)
    assert.match(stdout, /the schema: trigger own\\u001b\[2J.* does not belong to Lyra/)
    if (kind.name === 'sqlite') assertSays(stdout, 'the schema: view mine does not belong to Lyra')
    assert.match(stdout, kind.name === 'sqlite' ? /2 problems found/ : /1 problem found/)
    assert.doesNotMatch(stdout, RAW)
  })
})

test('numbers never change in CSV, not even negative ones and lists', () => {
  const share = {
    party: idOf('b'),
    equityLikeShare: '-0.5',
    averageEntryValuation: '+1',
    averageScore: '-1e-7',
  }
  const sla = {
    hysteresisPeriodFeePenalties: ['-0.1', '0.2'],
    requiredLiquidity: '=1',
    notionalVolumeBuys: '-x',
  }
  const row = [idOf('a'), idOf('b'), JSON.stringify({ ...share, virtualStake: '-' }), JSON.stringify(sla)]
  const line = TEXT_FORMATS.csv.writerOf(liquidityProviders).line({ row, cursor: 'c', selection: {} })
  assertSays(line, ",-0.5,+1,-1e-7,'-,")
  assertSays(line, `,"-0.1,0.2",'=1,'-x,`)
})

test('printable texts stay unchanged', () => {
  assert.equal(printable('Größe 1 – 日本 🙂'), 'Größe 1 – 日本 🙂')
  assert.equal(printable(HOSTILE), ESCAPED)
})
