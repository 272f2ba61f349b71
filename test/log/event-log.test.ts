import assert from 'node:assert/strict'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { type LogDisk, type LogFile, NODE_DISK } from '#core/log/files/log-disk'
import { HEAD_NAME, isEarlierHead, type LogHead, readHead } from '#core/log/files/log-head'
import { parseIndex } from '#core/log/files/log-index'
import { readReaders, writeReader } from '#core/log/files/reader-files'
import { parseSegmentName, segmentName } from '#core/log/files/segment-name'
import { FolderSource } from '#core/log/read/folder/folder-source'
import { FollowedLog } from '#core/log/read/followed-log'
import { LogReader } from '#core/log/read/log-reader'
import { framesOf } from '#core/log/read/read-segment'
import { deleteUnneeded } from '#core/log/retention'
import { LogWriter } from '#core/log/write/log-writer'
import { convertBuffer } from '#service/live/receive/convert-buffer'
import {
  busEvent,
  checkpoint,
  eventsOf,
  fileOf,
  frame,
  marked,
  markedBlocks,
  message,
} from '../fixtures/events/event-stream.ts'
import { SILENT } from '../fixtures/services/service.ts'
import { temporaryFolder } from '../fixtures/stores/stores.ts'

const UPGRADE_STARTED = 150

type WriterChoice = {
  chain?: string
  isIntact?: boolean
  segmentBytes?: number
  disk?: LogDisk
  makeRoom?: () => boolean
  onHead?: (head: LogHead) => void
  onFailed?: (error: Error) => void
}

const diskFault = (code: string) => Object.assign(new Error(`a disk fault: ${code}`), { code })

const writerOf = (
  folder: string,
  {
    chain,
    isIntact = true,
    segmentBytes = 1024 * 1024,
    disk = NODE_DISK,
    makeRoom = () => false,
    onHead = () => {},
    onFailed = (error) => {
      throw error
    },
  }: WriterChoice = {},
) =>
  LogWriter.open(
    {
      folder,
      pinned: chain === undefined ? null : { id: chain, pinnedBy: '--chain is' },
      segmentBytes,
      isIntact,
      logger: SILENT,
      disk,
    },
    {
      onHead,
      onFault: () => {},
      onFailed,
      makeRoom,
    },
  )

/** The disk of the machine, which notes the calls that change how much of a folder would survive a loss of power. */
function recordingDisk(calls: string[]): LogDisk {
  const recorded = (path: string, file: LogFile): LogFile => ({
    ...file,
    truncate: (length) => {
      calls.push(`truncate ${basename(path)}`)
      file.truncate(length)
    },
    flush: () => {
      calls.push(`flush ${basename(path)}`)
      return file.flush()
    },
  })
  return {
    ...NODE_DISK,
    create: (path) => recorded(path, NODE_DISK.create(path)),
    open: (path) => recorded(path, NODE_DISK.open(path)),
    rename: (from, to) => {
      calls.push(`rename to ${basename(to)}`)
      NODE_DISK.rename(from, to)
    },
    flushFolder: (folder) => {
      calls.push('flush folder')
      return NODE_DISK.flushFolder(folder)
    },
  }
}

/** Writes blocks to the log of a folder, each range to a segment of its own unless it goes on. */
async function writeBlocks(folder: string, ...ranges: [from: number, to: number][]): Promise<void> {
  const writer = await writerOf(folder)
  for (const [from, to] of ranges) for (const event of eventsOf(markedBlocks(from, to))) writer.take(event)
  writer.write()
  await writer.close()
}

describe('The names of segments', () => {
  for (const name of [
    '0000000011-1-1499.bevt',
    '0000000011-1-1499.bevt.gz',
    '0000000012-1500-1500.part.bevt',
    '0000000013-1501.bevt.open',
  ])
    test(`${name} is read as it is written`, () => assert.equal(segmentName(parseSegmentName(name)!), name))

  test('are no other names', () => {
    for (const name of ['head.json', '11-1-2.bevt', '0000000011-1-2.bevt.new', '0000000011-a-2.bevt'])
      assert.equal(parseSegmentName(name), null, name)
  })
})

describe('An event log', () => {
  test('of another chain, or of a later version, is refused', async (t) => {
    const folder = temporaryFolder(t)
    await writeBlocks(folder, [1, 3])
    await assert.rejects(
      writerOf(folder, { chain: 'another' }),
      /is of chain "test-chain", but --chain is "another"/,
    )
    writeFileSync(join(folder, 'head.json'), '{"version":2}')
    await assert.rejects(writerOf(folder), /has version 2, this program reads version 1/)
  })

  test('without a head does not take an empty file for the block of its name', async (t) => {
    const folder = temporaryFolder(t)
    await writeBlocks(folder, [1, 3])
    rmSync(join(folder, 'head.json'))
    writeFileSync(join(folder, '0000000002-500.bevt.open'), '')
    await writeBlocks(folder, [4, 5])
    const reader = new LogReader([new FollowedLog(new FolderSource(folder))])
    t.after(() => reader.close())
    assert.deepEqual(
      [reader.segments.lowest(), reader.segments.highest(), reader.gaps.refreshAndFind(6n)],
      [1n, 5n, null],
    )
  })

  test('flushes a block before the head that names it, and a new name before the head of the next segment', async (t) => {
    const folder = temporaryFolder(t)
    const calls: string[] = []
    const writer = await writerOf(folder, { disk: recordingDisk(calls), segmentBytes: 1 })
    await writer.settled()
    for (const height of [1, 2]) {
      calls.length = 0
      for (const event of eventsOf([marked(height)])) writer.take(event)
      writer.write()
      await writer.settled()
    }
    await writer.close()
    const isWritten = (name: string) => [`flush ${name}.new`, `rename to ${name}`, 'flush folder']
    assert.deepEqual(calls, [
      // The segment of block 1 is full, and block 2 begins one.
      'truncate 0000000001-1.bevt.open.new',
      'rename to 0000000002-2.bevt.open',
      'flush 0000000001-1.bevt.open.new',
      'rename to 0000000001-1-1.bevt',
      'flush folder',
      ...isWritten('index.json'),
      ...isWritten('head.json'),
      'flush 0000000002-2.bevt.open.new',
      // Its name.
      'flush folder',
      ...isWritten('head.json'),
    ])
  })

  test('takes events while names are being flushed, which takes seconds on a busy disk', async (t) => {
    const folder = temporaryFolder(t)
    let isBusy = false
    const free = Promise.withResolvers<void>()
    const flushFolder = (folder: string) => (isBusy ? free.promise : NODE_DISK.flushFolder(folder))
    const writer = await writerOf(folder, { disk: { ...NODE_DISK, flushFolder } })
    await writer.settled()
    isBusy = true
    for (const event of eventsOf(markedBlocks(1, 3))) writer.take(event)
    assert.equal(writer.write(), null)
    assert.equal(statSync(join(folder, '0000000001-1.bevt.open')).size, fileOf(...markedBlocks(1, 3)).length)
    assert.equal(writer.head.last, null)
    free.resolve()
    await writer.close()
    assert.equal(writer.head.last, 3n)
  })

  for (const isIntact of [true, false])
    test(`${isIntact ? 'keeps' : 'cuts'} what was not committed if the system has ${isIntact ? 'not ' : ''}been started anew`, async (t) => {
      const folder = temporaryFolder(t)
      await writeBlocks(folder, [1, 3])
      const path = join(folder, '0000000001-1.bevt.open')
      const committed = statSync(path).size
      const cutRecord = fileOf(marked(5)).subarray(0, 20)
      appendFileSync(path, Buffer.concat([fileOf(marked(4)), cutRecord]))
      const writer = await writerOf(folder, { isIntact })
      await writer.close()
      assert.equal(writer.head.last, isIntact ? 4n : 3n)
      assert.equal(statSync(path).size, isIntact ? committed + fileOf(marked(4)).length : committed)
      assert.equal(writer.head.bytes, statSync(path).size)
    })

  test('writes again what a failed flush may have lost of a full segment that was left', async (t) => {
    const folder = temporaryFolder(t)
    await writeBlocks(folder, [1, 1])
    const head = readFileSync(join(folder, 'head.json'))
    const committed = statSync(join(folder, '0000000001-1.bevt.open')).size
    await writeBlocks(folder, [2, 3])
    // Killed before blocks 2 and 3 were committed, after the next segment had begun.
    writeFileSync(join(folder, 'head.json'), head)
    writeFileSync(join(folder, '0000000002-500.bevt.open'), '')
    const calls: string[] = []
    const open = (path: string): LogFile => {
      const file = NODE_DISK.open(path)
      if (basename(path) !== '0000000001-1.bevt.open') return file
      return {
        ...file,
        write: (bytes, at) => {
          calls.push(`write ${bytes.length} at ${at}`)
          file.write(bytes, at)
        },
        flush: async () => {
          calls.push('flush')
          if (calls.filter((call) => call === 'flush').length === 1) throw diskFault('EIO')
          await file.flush()
        },
      }
    }
    const writer = await writerOf(folder, { disk: { ...NODE_DISK, open, untilSpace: async () => {} } })
    await writer.close()
    const rewrite = `write ${fileOf(...markedBlocks(2, 3)).length} at ${committed}`
    assert.deepEqual(calls, [rewrite, 'flush', rewrite, 'flush'])
    assert.ok(readdirSync(folder).includes('0000000001-1-3.bevt'))
  })

  test('is opened on a full disk although a block with events missing is to be set apart, and room is made for it', async (t) => {
    const folder = temporaryFolder(t)
    await writeBlocks(folder, [1, 3])
    const [begin, , ...rest] = eventsOf([{ height: 4, events: [checkpoint()] }])
    appendFileSync(join(folder, '0000000001-1.bevt.open'), frame([begin!, ...rest]))
    let isFull = true
    const create = (path: string): LogFile => {
      if (isFull && path.endsWith('.open.new')) throw diskFault('ENOSPC')
      return NODE_DISK.create(path)
    }
    const makeRoom = () => {
      isFull = false
      return true
    }
    const writer = await writerOf(folder, { disk: { ...NODE_DISK, create }, makeRoom })
    await writer.close()
    assert.equal(isFull, false)
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.includes('bevt')),
      ['0000000001-1-3.bevt', '0000000002-4-4.part.bevt'],
    )
  })

  test('leaves no file open that a full disk does not accept', async (t) => {
    const folder = temporaryFolder(t)
    const openFiles = new Set<string>()
    let isFull = true
    const create = (path: string): LogFile => {
      const file = NODE_DISK.create(path)
      if (!path.endsWith('.open.new')) return file
      assert.ok(!openFiles.has(path), `${path} is opened again`)
      openFiles.add(path)
      return {
        ...file,
        close: () => {
          openFiles.delete(path)
          file.close()
        },
      }
    }
    const rename = (from: string, to: string) => {
      if (isFull && to.endsWith('.open')) throw diskFault('ENOSPC')
      NODE_DISK.rename(from, to)
    }
    const untilSpace = async () => {
      assert.equal(openFiles.size, 0)
      isFull = false
    }
    const writer = await writerOf(folder, { disk: { ...NODE_DISK, create, rename, untilSpace } })
    for (const event of eventsOf(markedBlocks(1, 3))) writer.take(event)
    await writer.write()
    await writer.close()
    assert.equal(writer.head.last, 3n)
    assert.equal(openFiles.size, 0)
  })

  test('takes nothing more after a disk fault that does not pass, and says so to whoever writes', async (t) => {
    const folder = temporaryFolder(t)
    const create = (path: string): LogFile => {
      const file = NODE_DISK.create(path)
      const flush = async () => {
        throw diskFault('EBADF')
      }
      return path.endsWith('.open.new') ? { ...file, flush } : file
    }
    const failures: string[] = []
    const onFailed = ({ message }: Error) => failures.push(message)
    const writer = await writerOf(folder, { disk: { ...NODE_DISK, create }, onFailed })
    for (const event of eventsOf(markedBlocks(1, 1))) writer.take(event)
    assert.equal(writer.write(), null)
    await assert.rejects(writer.settled(), { code: 'EBADF' })
    assert.deepEqual(failures, ['a disk fault: EBADF'])
    for (const event of eventsOf(markedBlocks(2, 2))) writer.take(event)
    await assert.rejects(writer.write()!, { code: 'EBADF' })
    await writer.close()
  })

  test('closes after a disk fault that may have passed, and then does not', async (t) => {
    const folder = temporaryFolder(t)
    let code = 'ENOSPC'
    const create = (path: string): LogFile => {
      const write = () => {
        throw diskFault(code)
      }
      return { ...NODE_DISK.create(path), ...(path.endsWith('.open.new') && { write }) }
    }
    const failures: string[] = []
    const onFailed = ({ message }: Error) => failures.push(message)
    const writer = await writerOf(folder, { disk: { ...NODE_DISK, create }, onFailed })
    for (const event of eventsOf(markedBlocks(1, 1))) writer.take(event)
    const waiting = writer.write()!
    const closed = writer.close()
    code = 'EROFS'
    await assert.rejects(waiting, { code: 'EROFS' })
    await closed
    assert.deepEqual(failures, ['a disk fault: EROFS'])
  })

  test('never has a head that goes back, also if a segment before the one that it names has lost its last name', async (t) => {
    const folder = temporaryFolder(t)
    const bytes = frame(eventsOf(markedBlocks(4, 6)), 0n)
    writeFileSync(
      join(folder, segmentName({ kind: 'open', number: 1, first: 1n })),
      frame(eventsOf(markedBlocks(1, 3)), 0n),
    )
    writeFileSync(join(folder, segmentName({ kind: 'open', number: 2, first: 4n })), bytes)
    const head = {
      version: 1,
      chain: 'test-chain',
      number: 2,
      first: '4',
      last: '6',
      bytes: bytes.length,
      time: null,
    }
    writeFileSync(join(folder, HEAD_NAME), JSON.stringify(head))
    const seen = [readHead(NODE_DISK, folder)!]
    const writer = await writerOf(folder, { isIntact: false, onHead: (next) => seen.push(next) })
    for (const event of eventsOf(markedBlocks(7, 8))) writer.take(event)
    writer.write()
    await writer.close()
    assert.ok(seen.every((next, index) => index === 0 || !isEarlierHead(next, seen[index - 1]!)))
    assert.ok(existsSync(join(folder, '0000000001-1-3.bevt')))
    assert.equal(seen.at(-1)!.last, 8n)
  })

  test('has the upgrade that an older version was told of before that one forgets it', async (t) => {
    const [folder, buffer] = [temporaryFolder(t), temporaryFolder(t)]
    const path = join(buffer, 'protocol-upgrade.json')
    const event = busEvent({ id: '8-1', kind: UPGRADE_STARTED }, message({ 1: 7 })).toString('base64')
    writeFileSync(path, JSON.stringify({ event }))
    const isThereAtHead: boolean[] = []
    const rename = (from: string, to: string) => {
      if (to.endsWith(HEAD_NAME)) isThereAtHead.push(existsSync(path))
      NODE_DISK.rename(from, to)
    }
    const writer = await writerOf(folder, { disk: { ...NODE_DISK, rename } })
    await writer.settled()
    await convertBuffer(buffer, writer, folder, SILENT)
    await writer.close()
    assert.equal(readHead(NODE_DISK, folder)!.upgrade!.height, 7n)
    assert.equal(isThereAtHead.at(-1), true)
    assert.equal(existsSync(path), false)
  })

  test('that cannot be written leaves an older version its files', async (t) => {
    const [folder, buffer] = [temporaryFolder(t), temporaryFolder(t)]
    const file = 'lyra-buffer-0000000000000001.bevt'
    writeFileSync(join(buffer, file), fileOf(...markedBlocks(1, 3)))
    const create = (path: string): LogFile => {
      const flush = async () => {
        throw diskFault('EBADF')
      }
      return { ...NODE_DISK.create(path), ...(path.endsWith('.open.new') && { flush }) }
    }
    const writer = await writerOf(folder, { disk: { ...NODE_DISK, create }, onFailed: () => {} })
    await assert.rejects(convertBuffer(buffer, writer, folder, SILENT), { code: 'EBADF' })
    assert.deepEqual(readdirSync(buffer), [file])
    await writer.close()
  })

  test('has damage where a sealed segment ends within a frame, after those before it', async (t) => {
    const folder = temporaryFolder(t)
    await writeBlocks(folder, [1, 3], [10, 10])
    const path = join(folder, '0000000001-1-3.bevt')
    truncateSync(path, statSync(path).size - 5)
    const reader = new LogReader([new FollowedLog(new FolderSource(folder))])
    t.after(() => reader.close())
    let count = 0
    const frames = framesOf(reader.segments.find(1n)!, () => count++)
    await assert.rejects(
      frames.readAll(),
      /^EventStreamError: 0000000001-1-3\.bevt, record 9, .* ends within a record: it is damaged here$/,
    )
    assert.equal(count, 8)
  })

  test('knows a protocol upgrade until a block after it has ended', async (t) => {
    const folder = temporaryFolder(t)
    const event = busEvent({ id: '4-1', kind: UPGRADE_STARTED }, message({ 1: 3 }))
    const first = await writerOf(folder)
    for (const one of [...eventsOf(markedBlocks(1, 3)), event]) first.take(one)
    first.write()
    await first.close()
    const second = await writerOf(folder)
    assert.deepEqual(second.head.upgrade, { height: 3n, event })
    for (const one of eventsOf(markedBlocks(4, 4))) second.take(one)
    second.write()
    await second.close()
    assert.equal(readHead(NODE_DISK, folder)!.upgrade, null)
  })

  test('has an index with names and sizes of the sealed segments, which is renewed if they are others', async (t) => {
    const folder = temporaryFolder(t)
    await writeBlocks(folder, [1, 10], [8, 12], [20, 22])
    const sizes = () => {
      const names = readdirSync(folder).filter((name) => /\.bevt(\.gz)?$/.test(name))
      return new Map(names.sort().map((name) => [name, statSync(join(folder, name)).size]))
    }
    const index = () => parseIndex(readFileSync(join(folder, 'index.json'), 'utf8'))
    assert.equal(index()?.size, 2)
    assert.deepEqual(index(), sizes())
    const writer = await writerOf(folder)
    const path = join(folder, '0000000001-1-10.bevt')
    writeFileSync(`${path}.gz`, gzipSync(readFileSync(path)))
    rmSync(path)
    writer.renewIndex()
    await writer.close()
    assert.deepEqual(index(), sizes())
    const twice = JSON.stringify({
      version: 1,
      segments: { '0000000001-1-20.bevt': 1, '0000000001-5-20.bevt': 1 },
    })
    for (const text of ['', '[]', '{"version":1}', '{"version":1,"segments":{"../x":1}}', twice])
      assert.equal(parseIndex(text), null, text)
  })

  test('is read by height: a block sent again from its newest segment, also gzipped, and a gap is what none has', async (t) => {
    const folder = temporaryFolder(t)
    await writeBlocks(folder, [1, 10], [8, 12], [20, 22])
    const reader = new LogReader([new FollowedLog(new FolderSource(folder))])
    t.after(() => reader.close())
    const numberOf = (height: bigint) => reader.segments.find(height)?.number ?? null
    assert.deepEqual([numberOf(7n), numberOf(9n), numberOf(13n), numberOf(21n)], [1, 2, null, 3])
    assert.deepEqual(reader.gaps.refreshAndFind(13n), { from: 13n, to: 19n })
    assert.deepEqual(
      [reader.gaps.refreshAndFind(12n), reader.gaps.refreshAndFind(23n), reader.segments.lowest()],
      [null, null, 1n],
    )
    const readFirst = ({ segments }: LogReader) => framesOf(segments.find(1n)!, () => {}).read()
    const plain = await readFirst(reader)
    const path = join(folder, reader.segments.find(1n)!.name)
    writeFileSync(`${path}.gz`, gzipSync(readFileSync(path)))
    rmSync(path)
    // What was listed before is read under its new name.
    const packed = await readFirst(reader)
    assert.ok(packed.bytes.equals(plain.bytes))
    const listedAnew = await readFirst(new LogReader([new FollowedLog(new FolderSource(folder))]))
    assert.equal(listedAnew.following, 'nothing')
  })

  test('that was deleted and begins again at another block is not taken for the same one', async (t) => {
    const folder = temporaryFolder(t)
    await writeBlocks(folder, [1, 3])
    const log = new FollowedLog(new FolderSource(folder))
    log.refresh()
    for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true })
    await writeBlocks(folder, [50, 55])
    log.refresh()
    assert.deepEqual(
      [log.active?.first, log.active?.last, log.active?.name],
      [50n, 55n, '0000000001-50.bevt.open'],
    )
  })

  test('gives block 1 from a segment in which another block follows its parts, if there is one', async (t) => {
    const folder = temporaryFolder(t)
    await writeBlocks(folder, [1, 3], [1, 1], [20, 21])
    const reader = new LogReader([new FollowedLog(new FolderSource(folder))])
    t.after(() => reader.close())
    assert.deepEqual(reader.segments.find(1n)?.name, '0000000001-1-3.bevt')
    rmSync(join(folder, '0000000001-1-3.bevt'))
    const other = new LogReader([new FollowedLog(new FolderSource(folder))])
    t.after(() => other.close())
    assert.deepEqual(other.segments.find(1n)?.name, '0000000002-1-1.bevt')
  })

  test('is one source with others: a sealed segment comes first, then the one that is further', async (t) => {
    const [one, two] = [temporaryFolder(t), temporaryFolder(t)]
    await writeBlocks(one, [1, 5])
    await writeBlocks(two, [1, 3], [10, 12])
    const reader = new LogReader([
      new FollowedLog(new FolderSource(one)),
      new FollowedLog(new FolderSource(two)),
    ])
    t.after(() => reader.close())
    assert.deepEqual([reader.segments.find(2n)!.log.name, reader.segments.find(2n)!.kind], [two, 'sealed'])
    assert.deepEqual([reader.segments.find(5n)!.log.name, reader.segments.find(11n)!.log.name], [one, two])
    assert.deepEqual(reader.gaps.refreshAndFind(6n), { from: 6n, to: 9n })
  })
})

describe('Retention', () => {
  const NOW = 1_700_000_000_000
  const names = ['0000000001-1-10.bevt', '0000000002-11-20.bevt', '0000000003-21-30.bevt']

  /** Three segments of 100 bytes, written a minute after each other, the last one a minute ago. */
  async function logOf(t: TestContext, heights: readonly (bigint | null)[]): Promise<string> {
    const folder = temporaryFolder(t)
    mkdirSync(join(folder, 'readers'))
    for (const [index, name] of names.entries()) {
      writeFileSync(join(folder, name), Buffer.alloc(100))
      const seconds = NOW / 1_000 - 60 * (3 - index)
      utimesSync(join(folder, name), seconds, seconds)
    }
    for (const [index, height] of heights.entries()) {
      const file = { height, time: null, isRequired: true, isClean: false, upgrade: null }
      writeReader(NODE_DISK, folder, { name: `store-${index}`, ...file })
    }
    return folder
  }

  const cases: [what: string, heights: (bigint | null)[], options: object, deletes: number][] = [
    ['nothing that is needed for its size', [30n], { keep: { bytes: 300 } }, 0],
    ['what is beyond the size', [30n], { keep: { bytes: 100 } }, 2],
    ['what is older than the time', [30n], { keep: { milliseconds: 90_000 } }, 2],
    ['nothing of a log that keeps all', [30n], { keep: 'all' }, 0],
    ['nothing that a reader has not read', [30n, 15n], { keep: { bytes: 0 } }, 1],
    ['nothing for a reader that has nothing', [null], { keep: { bytes: 0 } }, 0],
    ['nothing before the first service', [], { keep: { bytes: 0 }, mayDelete: false }, 0],
  ]
  for (const [what, heights, options, deletes] of cases) {
    test(`deletes ${what}`, async (t) => {
      const folder = await logOf(t, heights)
      const disk = { ...NODE_DISK, space: () => ({ freeBytes: 2 ** 40, totalBytes: 2 ** 41 }) }
      const given = { disk, folder, keep: 'all' as const, mayDelete: true, nowMs: NOW, ...options }
      assert.deepEqual(deleteUnneeded(given), names.slice(0, deletes))
      assert.deepEqual(
        readdirSync(folder).filter((name) => name !== 'readers'),
        names.slice(deletes),
      )
    })
  }

  test('deletes what all have read if the disk is nearly full, one at a time if it has refused a write', async (t) => {
    const folder = await logOf(t, [20n])
    const disk = { ...NODE_DISK, space: () => ({ freeBytes: 1, totalBytes: 2 ** 41 }) }
    const given = { disk, folder, keep: 'all' as const, mayDelete: false, nowMs: NOW }
    assert.deepEqual(deleteUnneeded(given, true), names.slice(0, 1))
    assert.deepEqual(deleteUnneeded(given), names.slice(1, 2))
    assert.equal(statSync(join(folder, names[2]!)).size, 100)
  })

  test('takes a damaged file of a reader for one that has nothing', async (t) => {
    const folder = await logOf(t, [])
    for (const text of ['{"height":', '', 'null', '[]', '5', '{}', '{"height":20,"required":true}']) {
      writeFileSync(join(folder, 'readers', 'store-x.json'), text)
      const readers = readReaders(NODE_DISK, folder).map(({ height, isRequired }) => [height, isRequired])
      assert.deepEqual(readers, [[null, true]], text)
    }
    rmSync(join(folder, 'readers', 'store-x.json'))
    mkdirSync(join(folder, 'readers', 'store-x.json'))
    assert.equal(readReaders(NODE_DISK, folder).length, 1, 'a file that cannot be read')
  })

  test('goes on on a full disk: a reader says there, too, how far it has come', async (t) => {
    const folder = await logOf(t, [5n])
    const full = () => {
      throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
    }
    const disk = { ...NODE_DISK, create: full }
    for (const height of [1_000_000n, 30n]) {
      const file = { name: 'store-0', height, time: null, isRequired: true, isClean: false, upgrade: null }
      writeReader(disk, folder, file)
      assert.deepEqual(readReaders(disk, folder), [file])
    }
    const other = { name: 'new', height: 1n, time: null, isRequired: true, isClean: false, upgrade: null }
    assert.throws(() => writeReader(disk, folder, other), { code: 'ENOSPC' })
    const given = { disk, folder, keep: { bytes: 100 }, mayDelete: true, nowMs: NOW }
    assert.deepEqual(deleteUnneeded(given, true), names.slice(0, 1))
  })

  test('deletes nothing while it is not known who reads the log', async (t) => {
    const folder = await logOf(t, [null])
    const list = (path: string) => {
      if (path.endsWith('readers')) throw Object.assign(new Error('too many open files'), { code: 'EMFILE' })
      return NODE_DISK.list(path)
    }
    const given = { folder, keep: { bytes: 0 }, mayDelete: true, nowMs: NOW }
    assert.throws(() => deleteUnneeded({ ...given, disk: { ...NODE_DISK, list } }), { code: 'EMFILE' })
    rmSync(join(folder, 'readers'), { recursive: true })
    writeFileSync(join(folder, 'readers'), '')
    assert.throws(() => deleteUnneeded({ ...given, disk: NODE_DISK }), { code: 'ENOTDIR' })
    assert.equal(readdirSync(folder).length, names.length + 1)
  })
})
