import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { NODE_DISK } from '#core/log/files/log-disk'
import { readReaders, writeReader } from '#core/log/files/reader-files'
import { LogShortener } from '#service/live/receive/log-shortener'
import { LogReceiver } from '#service/live/receive/receiver'
import { writeReceiver } from '../fixtures/logs/written-log.ts'
import { capturedLog, SILENT } from '../fixtures/services/service.ts'
import { temporaryFolder } from '../fixtures/stores/stores.ts'
import { until } from '../fixtures/until.ts'

const NAMES = ['0000000001-1-10.bevt', '0000000002-11-20.bevt', '0000000003-21-30.bevt']

/** A log of three segments with a store that has the blocks up to a height. */
async function logOf(t: TestContext, height: bigint): Promise<string> {
  const folder = join(temporaryFolder(t), 'log')
  mkdirSync(join(folder, 'readers'), { recursive: true })
  for (const name of NAMES) writeFileSync(join(folder, name), Buffer.alloc(100))
  await store(folder, height)
  return folder
}

const store = (folder: string, height: bigint | null, name = 'store') =>
  writeReader(NODE_DISK, folder, {
    name,
    height,
    time: null,
    isRequired: true,
    isClean: false,
    upgrade: null,
  })

const segmentsIn = (folder: string) => readdirSync(folder).filter((name) => name.endsWith('.bevt'))

describe('A log whose readers were deleted', () => {
  test('knows them again, deletes nothing that they need, and takes new ones, without a restart', async (t) => {
    const folder = await logOf(t, 15n)
    const { logger, lines } = capturedLog('info')
    const shortener = new LogShortener({
      folder,
      keep: { bytes: 0 },
      isKeepSet: true,
      hadRequiredReader: false,
      logger,
    })
    shortener.upkeep(1)
    assert.deepEqual(segmentsIn(folder), NAMES.slice(1))
    rmSync(join(folder, 'readers'), { recursive: true })
    assert.equal(shortener.makeRoom(), false)
    assert.deepEqual(segmentsIn(folder), NAMES.slice(1))
    shortener.upkeep(2)
    assert.match(lines.join(''), /the folder of the readers was deleted/)
    await until(() => readReaders(NODE_DISK, folder)[0]?.height === 15n, 'the reader')
    await store(folder, null, 'another')
    for (const number of [3, 4]) shortener.upkeep(number)
    assert.deepEqual(segmentsIn(folder), NAMES.slice(1))
    await store(folder, 30n)
    shortener.upkeep(5)
    assert.deepEqual(segmentsIn(folder), NAMES.slice(1))
    await store(folder, 20n, 'another')
    shortener.upkeep(6)
    assert.deepEqual(segmentsIn(folder), NAMES.slice(2))
  })

  test('keeps what a reader needs that cannot be noted again, until it is', async (t) => {
    const folder = await logOf(t, 15n)
    const { logger, lines } = capturedLog('info')
    let isFull = false
    const create = (path: string) => {
      if (!isFull) return NODE_DISK.create(path)
      throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
    }
    const shortener = new LogShortener({
      folder,
      keep: { bytes: 0 },
      isKeepSet: true,
      hadRequiredReader: false,
      logger,
      disk: { ...NODE_DISK, create },
    })
    shortener.upkeep(1)
    rmSync(join(folder, 'readers'), { recursive: true })
    isFull = true
    for (const number of [2, 3]) shortener.upkeep(number)
    assert.equal(shortener.makeRoom(), false)
    assert.deepEqual(segmentsIn(folder), NAMES.slice(1))
    assert.equal(lines.filter((line) => line.includes('cannot note its reader store again')).length, 1)
    isFull = false
    shortener.upkeep(4)
    assert.equal(readReaders(NODE_DISK, folder)[0]?.height, 15n)
    assert.deepEqual(segmentsIn(folder), NAMES.slice(1))
  })

  test('is not made again if it was deleted itself', async (t) => {
    const folder = await logOf(t, 15n)
    const shortener = new LogShortener({
      folder,
      keep: { bytes: 0 },
      isKeepSet: true,
      hadRequiredReader: false,
      logger: SILENT,
    })
    shortener.upkeep(1)
    rmSync(folder, { recursive: true })
    shortener.upkeep(2)
    assert.equal(existsSync(folder), false)
  })

  test('deletes nothing after a restart until a store is there again', async (t) => {
    for (const wasDeleted of [true, false]) {
      const folder = await logOf(t, 30n)
      const keep = { bytes: 0 }
      writeReceiver(folder, 1, { hadRequiredReader: true })
      rmSync(join(folder, 'readers', 'store.json'))
      if (wasDeleted) rmSync(join(folder, 'readers'), { recursive: true })
      const task = { host: '127.0.0.1', port: 0, from: [], eventLog: folder, buffer: null, forwarder: null }
      const receiver = await LogReceiver.open(
        { ...task, keep, mode: null, chain: null, storeChain: null },
        SILENT,
        {
          onChange: () => {},
          onFailed: (error) => {
            throw error
          },
        },
      )
      if (wasDeleted) {
        await new Promise((resolve) => setTimeout(resolve, 2_500))
        assert.deepEqual(segmentsIn(folder), NAMES)
        await store(folder, 20n)
      }
      await until(() => segmentsIn(folder).length === (wasDeleted ? 1 : 0), 'the deletion')
      await receiver.stop()
    }
  })
})
