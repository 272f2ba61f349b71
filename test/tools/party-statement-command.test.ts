import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { assertSays } from '../fixtures/assert-says.ts'
import { asset, fileOf, PARTY, payments, perpetual } from '../fixtures/events/event-stream.ts'
import { send } from '../fixtures/requests/http.ts'
import { openServer } from '../fixtures/services/port.ts'
import { assertFails, runWell } from '../fixtures/services/program.ts'
import { ingest, serve, storeOf } from '../fixtures/services/service.ts'
import { MONTH } from '../fixtures/shared.ts'
import { describeOn, STORE_KINDS, sqlite, temporaryFolder } from '../fixtures/stores/stores.ts'

const TRADER = 'b0e93493657ad9e47faa4099bedadd421aecc3bc31f27750d926e4e93e185fe6'
const NAME = 'statement-b0e93493-2024-09-01-2024-10-01.csv'

describeOn(STORE_KINDS, 'lyra statement', (kind) => {
  test('writes the same file from a store and from a service, by month, range and age', async (t) => {
    const store = await storeOf(t, kind, MONTH)
    const base = await serve(t, store)
    const of = async (query: string) =>
      (await send(base, `/api/v2/party-statements/${TRADER}?format=csv&${query}`)).text
    const [start, october, last] = [1_725_148_800n, 1_727_740_800n, 1_727_825_400n].map(
      (at) => at * 1_000_000_000n,
    )
    const september = await of(`dateRange.startTimestamp=${start}&dateRange.endTimestamp=${october}`)
    assert.ok(september.split('\r\n').length > 200)
    const cases: [range: string, expected: string][] = [
      ['--month 2024-09', september],
      ['--from 2024-09-01 --to 2024-10-01T02:00:00+02:00', september],
      ['--from 24h', await of(`dateRange.startTimestamp=${last! - 86_400_000_000_000n}`)],
      ['', await of('')],
    ]
    for (const [range, expected] of cases) {
      for (const [where, party] of [
        [`--store ${store}`, 'B0e93'],
        [`--url ${base}/`, TRADER.toUpperCase()],
      ]) {
        const { stdout } = await runWell(t, `statement ${where} --party ${party} ${range}`.trim())
        assert.equal(stdout, expected, `${where} ${range}`)
      }
    }
    const folder = temporaryFolder(t)
    const inFolder = `statement --store ${store} --party ${TRADER} --month 2024-09 --out ${folder}`
    const { stdout, stderr } = await runWell(t, inFolder)
    assert.deepEqual([stdout, stderr], [`Statement written to ${join(folder, NAME)}.\n`, ''])
    assert.equal(readFileSync(join(folder, NAME), 'utf8'), september)
    await assertFails(t, inFolder, `${NAME}: already exists; name another file, or add --force`, 1)
    writeFileSync(join(folder, NAME), '')
    await runWell(t, `${inFolder} --force`)
    assert.equal(readFileSync(join(folder, NAME), 'utf8'), september)
    assert.deepEqual(readdirSync(folder), [NAME])
    await runWell(t, `statement --url ${base} --party ${TRADER} --month 2024-10 --out ${folder}`)
    assert.deepEqual(readdirSync(folder), [NAME, 'statement-b0e93493-2024-10-01-2024-11-01-incomplete.csv'])
  })

  test('warns of an incomplete statement, whose last rows say why', async (t) => {
    const store = kind.create(t)
    const paid = (height: number) => ({ height, events: [payments([[PARTY, '1']], { seq: height })] })
    const first = { height: 1, events: [asset(), perpetual()] }
    await ingest(store, fileOf(first, paid(2), paid(5)), { allowGap: true })
    const { stdout, stderr } = await runWell(t, `statement --store ${store} --party ${PARTY}`)
    assertSays(stderr, 'the statement is incomplete: its last rows say why')
    assertSays(
      stdout,
      ',incomplete,,,,,,,,,,"blocks are missing, incomplete, or imported without some rows: blocks 3 to 4',
    )
    const { stderr: silent } = await runWell(
      t,
      `statement --store ${store} --party ${PARTY} --to 2500000000000000`,
    )
    assertSays(silent, 'incomplete')
    await assertFails(t, `statement --store ${store} --party 9`, 'no party id of', 1)
    await assertFails(
      t,
      `statement --store ${kind.create(t)} --party ${PARTY}`,
      /empty|no such|contains no store/,
      1,
    )
  })
})

describe('lyra statement', () => {
  test('refuses wrong usage in one line, and creates nothing', async (t) => {
    const folder = temporaryFolder(t)
    const wrong: [options: string, says: string][] = [
      ['--month 2024-09', '--party'],
      ['--party xyz', 'must be hex digits'],
      [`--party ${PARTY} --month 2024-13`, '--month...2024-13...such as 2024-09'],
      [`--party ${PARTY} --month 2024-9`, 'such as 2024-09'],
      [`--party ${PARTY} --month 2024-09 --to 2024-10-01`, '--month cannot be combined with --from or --to'],
      [`--party ${PARTY} --from 2024-09`, '--from...It is not a time'],
      [`--party ${PARTY} --store a.db --url http://127.0.0.1:1`, '--store and --url cannot be combined'],
      [`--party b0e9 --url http://127.0.0.1:1`, 'must be a whole id'],
    ]
    const store = sqlite.create(t)
    await ingest(store, fileOf({ height: 2, events: [payments([[PARTY, '1']])] }))
    for (const [options, says] of wrong) {
      const of = /--store|--url/.test(options) ? '' : `--store ${store} `
      await assertFails(t, `statement ${of}${options}`, says, 2, { cwd: folder })
    }
    assert.deepEqual(readdirSync(folder), [])
  })

  test('believes no service that is none, or leads out of the folder', async (t) => {
    const folder = temporaryFolder(t)
    for (const [name, says] of [
      ['../statement-x.csv', 'not a statement of a Lyra service'],
      ['statement-x.csv/../../x', 'not a statement of a Lyra service'],
      ['', 'not a statement of a Lyra service'],
    ] as const) {
      const server = createServer((_, response) =>
        response.setHeader('content-disposition', `attachment; filename="${name}"`).end('x'),
      )
      const address = await openServer(t, server)
      const command = `statement --url http://${address} --party ${PARTY} --out ${folder}`
      await assertFails(t, command, says, 1)
    }
    const refusing = createServer((_, response) => {
      response.statusCode = 400
      response.end('{"code":3,"message":"parsing field \\"dateRange\\": too long","details":[]}')
    })
    const address = await openServer(t, refusing)
    await assertFails(t, `statement --url http://${address} --party ${PARTY}`, ': too long', 1)
    assert.deepEqual(readdirSync(folder), [])
  })
})
