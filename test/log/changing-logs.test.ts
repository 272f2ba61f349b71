import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { GapError } from '#core/blocks/block'
import { merged } from '#core/domain/height-ranges'
import { CompleteBlocks } from '#core/log/read/complete-blocks'
import type { LogReader } from '#core/log/read/log-reader'
import { isReadFault } from '#core/log/read/log-source'
import type { LogBlocks } from '#service/live/commit/log-blocks'
import { damaged, eventsOfBlock } from '../fixtures/logs/events-of-blocks.ts'
import { blocksFor, type GivenBlock, MemoryLog, readLogs } from '../fixtures/logs/memory-log.ts'
import { createRandom, type Random } from '../fixtures/random.ts'
import { scaled } from '../fixtures/sampling.ts'

/** A block in a segment; of one that is not whole, an event is damaged, or missing. */
type Written = { height: number; events: Buffer[]; isWhole: boolean }

type Segment = { number: number; blocks: Written[]; isPart: boolean; isGzipped: boolean; isThere: boolean }

/** A log whose core and disk do at random what they may do, and which knows what can be read of it. */
class ChangingLog {
  readonly log = new MemoryLog()
  readonly #random: Random
  readonly #sealed: Segment[] = []
  #open: Written[] = []
  #number = 1
  #next: number

  constructor(random: Random, first: number) {
    this.#random = random
    this.#next = first
    this.log.mostBytes = random.pick([40, 100, 440, Number.POSITIVE_INFINITY])
  }

  /** Does something, and says what. */
  change(): string {
    const random = this.#random
    switch (random.integer(12)) {
      case 0:
        return this.#seal()
      case 1:
        this.#seal()
        this.#next = Math.max(1, this.#next - random.integer(8))
        return `goes back to ${this.#next}`
      case 2:
        this.#seal()
        this.#next += 1 + random.integer(3)
        return `goes on with ${this.#next}`
      case 3:
        return this.#writePart()
      case 4:
        return this.#gzip()
      case 5:
        return this.#delete()
      case 6:
        return this.#putBack()
      case 7:
        this.log.fault = random.pick(['EIO', 'EACCES', null])
        return `fault ${this.log.fault}`
      case 8:
        this.log.listFault = random.pick(['EIO', null])
        return `fault of the list ${this.log.listFault}`
      default:
        return this.#append(1 + random.integer(4))
    }
  }

  /** Everything that is there can be read from now on. */
  mend(): void {
    this.log.fault = null
    this.log.listFault = null
  }

  /** Whether a block is there, whole. */
  has(height: number): boolean {
    const isWhole = (block: Written) => block.isWhole && block.height === height
    return (
      this.#open.some(isWhole) || this.#sealed.some(({ blocks, isThere }) => isThere && blocks.some(isWhole))
    )
  }

  /** Whether {@link has} says what readers can read. */
  get isReadable(): boolean {
    return this.log.fault === null && this.log.listFault === null
  }

  #append(count: number): string {
    for (let each = 0; each < count; each++) {
      const height = this.#next++
      const events = [...eventsOfBlock(height)]
      const isDamaged = this.#random.integer(6) === 0
      if (isDamaged) {
        const at = this.#random.integer(events.length)
        events[at] = damaged(events[at]!)
      }
      this.#open.push({ height, events, isWhole: !isDamaged })
    }
    const [first, last] = [this.#open[0]!.height, this.#next - 1]
    this.log.writeOpen(
      this.#number,
      [first, last],
      this.#open.flatMap(({ events }) => events),
    )
    return `has up to ${last}: ${this.#open.map(({ height, isWhole }) => (isWhole ? height : `(${height})`)).join(' ')}`
  }

  #seal(): string {
    const blocks = this.#open
    if (blocks.length === 0) return 'nothing'
    this.#add({ blocks, isPart: false })
    this.#open = []
    return `seals ${blocks[0]!.height} to ${blocks.at(-1)!.height}`
  }

  #writePart(): string {
    this.#seal()
    const height = this.#next
    this.#add({
      blocks: [{ height, events: eventsOfBlock(height).toSpliced(1, 1), isWhole: false }],
      isPart: true,
    })
    return `writes a part of ${height}`
  }

  #gzip(): string {
    const plain = this.#sealed.filter(({ isGzipped, isThere }) => isThere && !isGzipped)
    if (plain.length === 0) return 'nothing'
    const segment = this.#random.pick(plain)
    segment.isGzipped = true
    this.log.remove(segment.number)
    this.#write(segment)
    return `gzips ${segment.number}`
  }

  #delete(): string {
    const segment = this.#sealed.find(({ isThere }) => isThere)
    if (segment === undefined) return 'nothing'
    segment.isThere = false
    this.log.remove(segment.number)
    return `deletes ${segment.number}`
  }

  #putBack(): string {
    const segment = this.#sealed.findLast(({ isThere }) => !isThere)
    if (segment === undefined) return 'nothing'
    segment.isThere = true
    this.#write(segment)
    return `puts back ${segment.number}`
  }

  #add(added: Pick<Segment, 'blocks' | 'isPart'>): void {
    const segment = { ...added, number: this.#number++, isGzipped: false, isThere: true }
    this.#sealed.push(segment)
    this.log.remove(segment.number)
    this.#write(segment)
  }

  #write({ number, blocks, isPart, isGzipped }: Segment): void {
    const events = blocks.flatMap((block) => block.events)
    this.log.seal(number, [blocks[0]!.height, blocks.at(-1)!.height], events, { isPart, isGzipped })
  }
}

/** Takes blocks in their order, and is told of those that no log has. */
abstract class Follower {
  protected readonly reader: LogReader
  readonly #heights = new Set<number>()
  /** What no log may have if it is called missing; null while that is not known. */
  isThere: ((height: number) => boolean) | null = null

  constructor(reader: LogReader) {
    this.reader = reader
  }

  /** The last block that was given, or passed over; 0 before the first. */
  abstract get last(): number

  /** Takes all that can be taken now. */
  async goOn(): Promise<void> {
    this.reader.refresh()
    for (let round = 0; await this.takeSome(); round++) assert.ok(round < 300, 'it does not end')
  }

  /** Returns whether there may be more. */
  protected abstract takeSome(): Promise<boolean>

  /** @param eventsOfPart how many events a part of block 1, or any other block, has */
  protected given(height: number, events: number, eventsOfPart: number): void {
    assert.equal(events, height === 1 ? 2 * eventsOfPart : eventsOfPart, `events of ${height}`)
    // A segment may also have blocks that are missing in the store, or older ones.
    assert.ok(!this.#heights.has(height), `${height} is given twice`)
    this.#heights.add(height)
  }

  protected passedOver(from: bigint, to: bigint): void {
    for (let height = Number(from); height <= to; height++)
      assert.ok(!this.isThere?.(height), `${height} is called missing`)
  }
}

/** A store, whose operator accepts each gap. */
class FollowingStore extends Follower {
  #gaps: { from: bigint; to: bigint }[] = []
  #blocks: LogBlocks = this.#begin(null)

  get last(): number {
    return Number(this.#blocks.coverage?.height ?? 0)
  }

  protected async takeSome(): Promise<boolean> {
    try {
      for (let piece = 0; await this.#blocks.readPiece(); piece++)
        assert.ok(piece < 3_000, 'the same is read again and again')
      return false
    } catch (error) {
      const { coverage } = this.#blocks
      if (error instanceof GapError) {
        this.passedOver(error.from, error.to)
        this.#gaps = [...this.#gaps, { from: error.from, to: error.to }]
        this.reader.segments.tryAgain()
      } else if (!isReadFault(error)) throw error
      this.#blocks = this.#begin(coverage)
      return error instanceof GapError
    }
  }

  #begin(stored: LogBlocks['coverage']): LogBlocks {
    // Of an accepted gap the store takes what is there.
    const onBlock = ({ height, events, isIncomplete }: GivenBlock) => {
      if (!isIncomplete) this.given(height, events, 2)
    }
    return blocksFor(this.reader, onBlock, { stored, accepted: merged(this.#gaps) })
  }
}

/** A forwarder, which passes over what no log has. */
class FollowingForwarder extends Follower {
  #blocks = new CompleteBlocks(this.reader)
  #next: bigint | null = null

  get last(): number {
    return Number(this.#next ?? 1n) - 1
  }

  protected async takeSome(): Promise<boolean> {
    this.#next ??= this.reader.segments.lowest({ wantsWhole: true })
    if (this.#next === null) return false
    try {
      const block = await this.#blocks.next(this.#next)
      if (block !== null) {
        this.given(Number(block.height), block.events.length, 4)
        this.#next++
        return true
      }
    } catch (error) {
      if (!isReadFault(error)) throw error
      return false
    }
    const gap = this.reader.gaps.refreshAndFind(this.#next, { wantsWhole: true })
    if (gap === null) return false
    this.passedOver(gap.from, gap.to)
    this.#next = gap.to + 1n
    this.#blocks = new CompleteBlocks(this.reader)
    return true
  }

  async has(height: number): Promise<boolean> {
    return (await new CompleteBlocks(this.reader).next(BigInt(height))) !== null
  }
}

/** Long enough for readers to list a folder again, and to try again what was refused. */
const LONG_MS = 61_000

async function follow(t: TestContext, seed: number, tick: (ms: number) => void): Promise<void> {
  const random = createRandom(seed)
  const first = random.pick([1, 11])
  const logs = Array.from({ length: 1 + random.integer(2) }, () => new ChangingLog(random, first))
  const read = () => readLogs(t, ...logs.map(({ log }) => log))
  const forwarder = new FollowingForwarder(read())
  const followers = [new FollowingStore(read()), forwarder]
  const has = (height: number) => logs.some((log) => log.has(height))
  const done: string[] = []
  try {
    for (let change = 0; change < 30; change++) {
      const log = random.pick(logs)
      const what = log.change()
      done.push(`${logs.indexOf(log)} ${what}`)
      // What was put back is found when the folder is listed again.
      tick(what.startsWith('puts back') ? LONG_MS : random.pick([10, 1_000, LONG_MS]))
      for (const follower of followers) {
        follower.isThere = logs.every(({ isReadable }) => isReadable) ? has : null
        if (random.integer(2) === 0) await follower.goOn()
      }
    }
    for (const log of logs) log.mend()
    for (let round = 0; round < 4; round++) {
      tick(LONG_MS)
      for (const follower of followers) {
        follower.isThere = has
        await follower.goOn()
      }
    }
    for (const { last } of followers)
      for (let height = last + 1; height < 200; height++) assert.ok(!has(height), `${height} is never given`)
    for (let each = 0; each < 10; each++) {
      const height = first + random.integer(40)
      assert.equal(await forwarder.has(height), has(height), `${height}, asked for alone`)
    }
  } catch (error) {
    throw new Error(`seed ${seed}: ${done.join('; ')}`, { cause: error })
  }
}

test('Of logs that grow, end, come again, are deleted and cannot be read, each block is given once that is whole, and none is called missing that can be read', async (t) => {
  let now = 1_000_000
  t.mock.method(performance, 'now', () => now)
  const runs = scaled(150, 5_000)
  for (let seed = 1; seed <= runs; seed++)
    await follow(t, seed, (ms) => {
      now += ms
    })
})
