import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { checkStore } from '#tools/check/check-store'
import { dataPoint, fileOf, MARKET } from '../fixtures/events/event-stream.ts'
import { mountSmallDisk } from '../fixtures/faults/small-disk.ts'
import { send } from '../fixtures/requests/http.ts'
import { MAIN } from '../fixtures/services/program.ts'
import { serve, storeOf, storeOfBytes } from '../fixtures/services/service.ts'
import { SAMPLE, skip } from '../fixtures/shared.ts'
import { openStore, runSql, sqlite } from '../fixtures/stores/stores.ts'

test('an export to a full disk by standard output, and a report, end in one line', async (t) => {
  const disk = mountSmallDisk(t, 64 * 1024)
  if (disk === null) return skip(t, 'cannot mount a file system')
  const store = await storeOf(t, sqlite, SAMPLE)
  for (const command of ['export funding-period-data-points --format csv', 'generate --blocks 2000']) {
    const target = openSync(join(disk.folder, 'file'), 'w')
    const named = command.startsWith('export') ? ['--store', store] : []
    const { status, stderr } = spawnSync(process.execPath, [MAIN, ...command.split(' '), ...named], {
      stdio: ['ignore', target, 'pipe'],
      encoding: 'utf8',
    })
    closeSync(target)
    assert.equal(status, 1, command)
    const lines = stderr
      .trimEnd()
      .split('\n')
      .filter((line) => !line.startsWith('{'))
    assert.deepEqual(lines.length, 1, stderr)
    assert.match(lines[0]!, /^lyra: .*(ENOSPC|no space left|disk is full)/)
  }
})

test('a table of another program in the file is a note of the check, a trigger and a view are problems', async (t) => {
  const store = await storeOf(t, sqlite, SAMPLE)
  // As Litestream makes them.
  await runSql(
    store,
    'create table _litestream_lock (id integer); create table _litestream_seq (id integer, seq integer)',
  )
  const { problems, notes } = await checkStore(openStore(store))
  assert.deepEqual(problems.reported, [])
  assert.ok(
    notes.some((note) => note.includes('table _litestream_lock does not belong to Lyra')),
    `${notes}`,
  )
  await runSql(
    store,
    `create view other as select * from checkpoints;
     create trigger changing after insert on checkpoints begin delete from gaps; end`,
  )
  const changed = await checkStore(openStore(store))
  const texts = JSON.stringify(changed.problems.reported)
  for (const name of ['view other', 'trigger changing'])
    assert.ok(texts.includes(`${name} does not belong to Lyra`), texts)
})

test('a chart of points at both ends of time has times of 64 bits', async (t) => {
  const ends = [-(2n ** 63n), 2n ** 63n - 1n]
  const store = await storeOfBytes(
    t,
    sqlite,
    fileOf({ height: 2, events: ends.map((timestamp, seq) => dataPoint({ seq: seq + 1, timestamp })) }),
  )
  const base = await serve(t, store)
  const { status, text } = await send(base, `/api/v2/series/funding-period-data-points/${MARKET}?buckets=10`)
  assert.equal(status, 200, text)
  const { from, to } = JSON.parse(text).series as { from: string; to: string }
  assert.deepEqual([BigInt(from), BigInt(to)], ends)
})
