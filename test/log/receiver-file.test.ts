import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { NODE_DISK } from '#core/log/files/log-disk'
import { isIntact, readReceiverFile } from '#core/log/files/receiver-file'
import { FolderSource } from '#core/log/read/folder/folder-source'
import { FollowedLog } from '#core/log/read/followed-log'
import { LogReader } from '#core/log/read/log-reader'
import { stateOfLogs } from '#service/live/state/logs-state'
import { writeBlocks, writeReceiver } from '../fixtures/logs/written-log.ts'
import { temporaryFolder } from '../fixtures/stores/stores.ts'

/** Values of each property that no receiver writes. */
const WRONG: Record<string, unknown[]> = {
  coreConnected: ['true', 1, null, undefined],
  events: ['5', -1, 1.5, 1e300, null, {}, undefined],
  outsideBlocks: ['5', -1, null],
  lastEventAtMs: ['now', {}, -1, [5]],
  faults: [null, 'none', [1], { 'second core': '1' }, { 'second core': -1 }, { 'second core': {} }],
  failures: [null, 'none', {}, [null], [5], [{}]],
  queueSeconds: ['5', -1, {}, []],
  upgrade: [5, 'soon', {}, [], { height: 5, since: 1, waitsFor: null }, { height: '5', since: 1 }],
  hasDiskFault: ['false', 0, null, undefined],
  hadRequiredReader: ['true', 1, null],
  boot: [5, {}, undefined],
}

const TEXTS = ['', '{', 'null', '5', '"text"', '[]', '{}', '[{"coreConnected":true}]']

describe("A receiver's state", () => {
  for (const [name, values] of Object.entries(WRONG)) {
    for (const wrong of values) {
      test(`with ${JSON.stringify(wrong)} as ${name} is none`, async (t) => {
        const folder = join(temporaryFolder(t), 'log')
        await writeBlocks(folder, [1, 3])
        writeReceiver(folder, 0)
        const path = join(folder, 'receiver.json')
        const good = JSON.parse(readFileSync(path, 'utf8'))
        assert.notEqual(readReceiverFile(NODE_DISK, folder), null)
        writeFileSync(path, JSON.stringify({ ...good, [name]: wrong }))
        const reader = new LogReader([new FollowedLog(new FolderSource(folder))])
        t.after(() => reader.close())
        assert.equal(readReceiverFile(NODE_DISK, folder), null)
        const { coreConnected, received, faults, failures, upgrade } = stateOfLogs(reader)
        assert.deepEqual([coreConnected, received, faults, failures, upgrade], [false, 0, {}, [], null])
      })
    }
  }

  test('that is no object is none, and nothing that an earlier process wrote counts as intact', async (t) => {
    const folder = join(temporaryFolder(t), 'log')
    await writeBlocks(folder, [1, 3])
    for (const text of TEXTS) {
      writeFileSync(join(folder, 'receiver.json'), text)
      assert.equal(readReceiverFile(NODE_DISK, folder), null, text)
      assert.equal(isIntact(readReceiverFile(NODE_DISK, folder)), false)
    }
  })

  test('may have what a later version adds', async (t) => {
    const folder = join(temporaryFolder(t), 'log')
    await writeBlocks(folder, [1, 3])
    writeReceiver(folder, 0, { upgrade: { height: '5', since: 1, waitsFor: 'block' } })
    const path = join(folder, 'receiver.json')
    const good = JSON.parse(readFileSync(path, 'utf8'))
    writeFileSync(path, JSON.stringify({ ...good, other: 5, faults: { 'later reason': 2 } }))
    assert.deepEqual(readReceiverFile(NODE_DISK, folder)!.faults, { 'later reason': 2 })
  })
})
