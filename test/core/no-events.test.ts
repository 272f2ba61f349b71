import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { assertSays } from '../fixtures/assert-says.ts'
import { idOf, readRecording } from '../fixtures/events/event-stream.ts'
import { assertFails, runLyra, runWell, startLyra } from '../fixtures/services/program.ts'
import { storeOf } from '../fixtures/services/service.ts'
import { MARKET, SAMPLE } from '../fixtures/shared.ts'
import { describeOn, fileWith, STORE_KINDS, sqlite, temporaryFolder } from '../fixtures/stores/stores.ts'

describe('input without a single event', () => {
  const inputs: [what: string, bytes: Uint8Array][] = [
    ['an empty file', Buffer.alloc(0)],
    ['a file of three bytes', Buffer.from('pc\n')],
    ['a record that is cut off', readRecording(SAMPLE).subarray(0, 40)],
    ['an empty gzip stream', gzipSync('')],
    ['a gzip stream that is cut off', gzipSync(readRecording(SAMPLE)).subarray(0, 12)],
  ]
  for (const [what, bytes] of inputs) {
    test(`is an error of ingest, verify and check: ${what}`, async (t) => {
      const path = fileWith(t, bytes)
      const message = 'some.evts: the input contains no complete event; name event files'
      const check = `check --store ${await storeOf(t, sqlite, SAMPLE)}`
      for (const command of [`ingest --store ${sqlite.create(t)}`, 'verify', check]) {
        const { code, stdout, stderr } = await runLyra(t, `${command} ${path}`)
        assertSays(command === check ? stdout : stderr, message)
        assert.equal(code, 1, command)
      }
    })
  }

  test('is reported for one of several files; the others are ingested', async (t) => {
    const empty = fileWith(t, '', 'empty.evts')
    const { stderr, stdout } = await runWell(t, `ingest --store ${sqlite.create(t)} ${empty} ${SAMPLE}`)
    assertSays(stderr, 'empty.evts: the file is empty')
    assert.match(stdout, /^905 blocks/)
  })

  test('makes a service that ingests it not ready', async (t) => {
    const service = startLyra(t, `serve --port 0 --store ${sqlite.create(t)} ${fileWith(t, '')}`)
    await service.printed('ingestion stopped: ...some.evts: the input contains no complete event')
  })
})

test('a gzip stream that is cut at the boundary of a record is reported by ingest, verify and check in the same words', async (t) => {
  const store = sqlite.create(t)
  const whole = readRecording(SAMPLE)
  // Only the check sum at the end is missing: the last record is complete.
  const path = fileWith(t, gzipSync(whole).subarray(0, -8), 'cut.evts.gz')
  const words = `${path}: the gzip stream is cut short after a whole record, at offset ${whole.length}`
  for (const command of [`ingest --store ${store}`, 'verify', `check --store ${store}`]) {
    const { stdout, stderr } = await runWell(t, `${command} ${path}`)
    for (const text of [stdout, stderr]) assertSays(text, words)
  }
  const { cutOff } = JSON.parse((await runLyra(t, `verify --json ${path}`)).stdout)
  assert.deepEqual(cutOff, [{ source: path, offset: whole.length, bytes: 0 }])
})

describeOn(STORE_KINDS, 'an export without rows', (kind) => {
  test('of an unknown market is an error, and leaves no file', async (t) => {
    const store = await storeOf(t, kind, SAMPLE)
    const out = join(temporaryFolder(t), 'points.csv')
    for (const resource of ['funding-period-data-points', 'liquidity-providers']) {
      const command = `export ${resource} --store ${store} --market ${idOf('9')} --out ${out}`
      await assertFails(t, command, `market ${idOf('9')} is unknown; lyra status lists the markets`, 1)
      assert.ok(!existsSync(out))
    }
  })

  test('of a known market is reported, but no error', async (t) => {
    const store = await storeOf(t, kind, SAMPLE)
    const command = `export funding-period-data-points --store ${store} --market ${MARKET} --seq 999`
    const { stdout, stderr } = await runWell(t, command)
    assert.equal(stdout, '')
    assertSays(stderr, `no matching funding period data points of market ${MARKET}: 0 rows`)
  })
})
