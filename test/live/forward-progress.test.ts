import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { NODE_DISK } from '#core/log/files/log-disk'
import { readReader } from '#core/log/files/reader-files'
import { CompleteBlocks } from '#core/log/read/complete-blocks'
import { FolderSource } from '#core/log/read/folder/folder-source'
import { FollowedLog } from '#core/log/read/followed-log'
import { LogReader } from '#core/log/read/log-reader'
import { ForwardProgress } from '#service/live/forward/forward-progress'
import { MissingBlocks } from '#service/live/forward/missing-blocks'
import { writeBlocks } from '../fixtures/logs/written-log.ts'
import { capturedLog } from '../fixtures/services/service.ts'
import { temporaryFolder } from '../fixtures/stores/stores.ts'

const NAME = 'forward-test'

/** Passes on blocks as a forwarder does, and says what operators are told. */
class Passing {
  readonly progress: ForwardProgress
  readonly lines: readonly string[]
  readonly #reader: LogReader

  constructor(t: TestContext, folder: string, repeatBytes = 1) {
    const { logger, lines } = capturedLog('warn')
    this.lines = lines
    this.#reader = new LogReader([new FollowedLog(new FolderSource(folder))])
    t.after(() => this.#reader.close())
    const options = { name: NAME, repeatBytes, address: '127.0.0.1:1', logger }
    this.progress = new ForwardProgress(this.#reader, options)
  }

  /** What a connection passes on, until its next block is missing, or is not there yet; the first height, and the last. */
  async connect(): Promise<string> {
    const first = this.progress.firstHeight()
    this.progress.note({ isClean: false })
    const blocks = new CompleteBlocks(this.#reader)
    for (let next = first!; ; next++) {
      const block = await blocks.next(next)
      if (block !== null) this.progress.passed(block)
      else return `${first} to ${next - 1n}${this.progress.passOver(next) === null ? '' : ', then a gap'}`
    }
  }

  refresh(): void {
    this.#reader.refresh()
  }

  get missing(): string {
    const { missingBlocks, missingCount } = this.progress.state
    return missingBlocks === null ? 'none' : `${missingCount} of ${missingBlocks.from} to ${missingBlocks.to}`
  }
}

/** A forwarder that has passed on 1 to 5, and a log in which 8 to 10 come next. */
async function beforeGap(t: TestContext): Promise<{ log: string; passing: Passing }> {
  const log = temporaryFolder(t)
  await writeBlocks(log, [1, 5])
  const passing = new Passing(t, log)
  await passing.connect()
  await writeBlocks(log, [8, 10])
  passing.refresh()
  return { log, passing }
}

describe('A connection of a forwarder begins', () => {
  test('with the last segment that a new forwarder finds, later with the last one passed on, or after an orderly end', async (t) => {
    const log = temporaryFolder(t)
    await writeBlocks(log, [1, 5], [4, 5])
    const passing = new Passing(t, log)
    assert.equal(await passing.connect(), '4 to 5')
    await writeBlocks(log, [9, 10])
    passing.refresh()
    assert.equal(await passing.connect(), '4 to 5, then a gap')
    assert.equal(await passing.connect(), '9 to 10')
    assert.equal(passing.progress.firstHeight(), 9n)
    passing.progress.note({ isClean: true })
    assert.equal(passing.progress.firstHeight(), 11n)
    passing.progress.note({ isClean: false })
    assert.equal(passing.progress.firstHeight(), 9n)
    const { height, isClean } = readReader(NODE_DISK, log, NAME)!
    assert.deepEqual([height, isClean], [10n, false])
  })

  test('after blocks that are missing, over however many connections, until a later one is passed on', async (t) => {
    const { passing } = await beforeGap(t)
    assert.equal(await passing.connect(), '1 to 5, then a gap')
    assert.equal(passing.missing, '2 of 6 to 7')
    assert.deepEqual([passing.progress.firstHeight(), passing.progress.firstHeight()], [8n, 8n])
    assert.equal(await passing.connect(), '8 to 10')
    assert.equal(passing.missing, '2 of 6 to 7')
    assert.equal(passing.lines.length, 1)
    assert.match(passing.lines[0]!, /blocks 6 to 7 missing.*Forwarding continues with block 8/)
  })

  test('some blocks before missing ones that have arrived, once', async (t) => {
    const { log, passing } = await beforeGap(t)
    for (let connection = 1; connection <= 2; connection++) await passing.connect()
    assert.equal(passing.progress.resumeWithArrived(), false)
    await writeBlocks(log, [6, 7])
    passing.refresh()
    assert.deepEqual(
      [passing.progress.resumeWithArrived(), passing.progress.resumeWithArrived()],
      [true, false],
    )
    assert.equal(await passing.connect(), '6 to 10')
    assert.equal(passing.missing, 'none')
    assert.equal(passing.progress.resumeWithArrived(), false)
    assert.equal(passing.progress.state.height, '10')
  })
})

describe('Blocks that a receiver must get from elsewhere', () => {
  const range = (from: number, to = from) => ({ from: BigInt(from), to: BigInt(to) })
  const stateOf = (blocks: MissingBlocks) => {
    const { missingBlocks, missingCount } = blocks.state
    return missingBlocks === null ? 'none' : `${missingCount} of ${missingBlocks.from} to ${missingBlocks.to}`
  }

  test('are counted once, and no more once they are passed on', () => {
    const blocks = new MissingBlocks()
    assert.equal(stateOf(blocks), 'none')
    assert.deepEqual(
      [range(5, 7), range(6), range(7, 9), range(20)].map((one) => blocks.add(one)),
      [true, false, true, true],
    )
    assert.equal(stateOf(blocks), '6 of 5 to 20')
    for (const height of [6n, 20n, 11n]) blocks.passed(height)
    assert.equal(stateOf(blocks), '4 of 5 to 9')
  })

  test('have arrived once the first of a range has', () => {
    const blocks = new MissingBlocks()
    for (const one of [range(5, 7), range(20, 22)]) blocks.add(one)
    const firstOf = (...there: bigint[]) => blocks.firstArrived((height) => there.includes(height))
    assert.deepEqual([firstOf(6n, 21n), firstOf(6n, 20n), firstOf(5n, 20n)], [null, 20n, 5n])
  })

  test('are told apart in a hundred ranges; of more, the first count as one', () => {
    const blocks = new MissingBlocks()
    for (let at = 1; at <= 100; at++) blocks.add(range(10 * at))
    assert.equal(stateOf(blocks), '100 of 10 to 1000')
    blocks.add(range(1_010))
    assert.equal(stateOf(blocks), '110 of 10 to 1010')
    assert.equal(blocks.add(range(15)), false)
  })
})
