import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Freshness } from '#core/store/pages/page'
import type { Follower } from '#service/streams/follower'
import { type Feed, Hub } from '#service/streams/hub'
import { until } from '../fixtures/until.ts'

/** Longer than the hub waits before it asks the store by itself. */
const POLL_MS = 250

/** A follower that says whether it has been sent nothing for long. */
function follower({ isSilent = false } = {}): Follower & { isClosed: boolean; isSilent: boolean } {
  return { send: () => {}, isSilent, drained: async () => {}, isClosed: false }
}

/** A feed that counts how often it is read. */
class CountingFeed implements Feed {
  updates = 0
  left: Follower[] = []
  signsOfLife: (readonly Follower[])[] = []
  awaitsGaps = false
  /** What an update waits for, or fails with. */
  work: () => Promise<void> = async () => {}

  /** The height of the store that it reads. */
  storeHeight: () => string | null = () => null

  async update(): Promise<bigint | null> {
    this.updates++
    const height = this.storeHeight()
    await this.work()
    return height === null ? null : BigInt(height)
  }

  /** Runs while a follower joins. */
  joined: (one: Follower) => Promise<void> = async () => {}

  join(one: Follower): Promise<void> {
    return this.joined(one)
  }

  leave(one: Follower): void {
    this.left.push(one)
  }

  keepAlive(silent: readonly Follower[]): void {
    this.signsOfLife.push(silent)
  }
}

describe('The hub of streams', () => {
  let height: string | null
  let asked: number
  let fault: Error | null
  let notices: string[]
  let hub: Hub

  beforeEach(() => {
    height = '1'
    asked = 0
    fault = null
    notices = []
    const reader = {
      freshness: async (): Promise<Freshness> => {
        asked++
        if (fault !== null) throw fault
        const storeHead = height === null ? null : { height, timestamp: '0' }
        return { storeHead, version: { version: 1n, mark: '1' }, changed: null }
      },
    }
    hub = new Hub({ reader, onNotice: (message) => notices.push(message) })
  })
  afterEach(() => hub.close())

  const follow = (key: string, feed: CountingFeed, one = follower()) => {
    feed.storeHeight = () => height
    return hub.follow({ key, createFeed: () => feed, start: 'now' }, one)
  }

  /** Commits a block, and waits until a feed has been read once more. */
  async function commit(to: string | null, read: CountingFeed): Promise<void> {
    const before = read.updates
    height = to
    hub.committed()
    await until(() => read.updates > before, 'the feed to be read')
    await sleep(5)
  }

  test('reads a feed once for all its followers, and makes it for the first one', async () => {
    const [feed, other] = [new CountingFeed(), new CountingFeed()]
    await follow('a', feed)
    await follow('a', other)
    await commit('2', feed)
    assert.deepEqual([feed.updates, other.updates], [1, 0])
  })

  test('reads a feed at once after a commit', async () => {
    const feed = new CountingFeed()
    await follow('a', feed)
    hub.committed()
    // Less than a tenth of a second, after which the hub asks by itself.
    await sleep(20)
    assert.equal(feed.updates, 1)
  })

  test('reads every feed after a commit, and none that has seen the position', async () => {
    const [one, two] = [new CountingFeed(), new CountingFeed()]
    await follow('one', one)
    await follow('two', two)
    await commit('2', one)
    assert.deepEqual([one.updates, two.updates], [1, 1])
    const before = asked
    hub.committed()
    await until(() => asked > before, 'the store to be asked')
    await sleep(5)
    assert.deepEqual([one.updates, two.updates], [1, 1])
  })

  test('no longer reads a feed that nobody follows, while others are followed', async () => {
    const [left, stays] = [new CountingFeed(), new CountingFeed()]
    const [first, second] = [follower(), follower()]
    await follow('left', left, first)
    await follow('left', left, second)
    await follow('stays', stays)
    hub.leave(first)
    await commit('2', stays)
    assert.deepEqual([left.updates, left.left], [1, [first]])
    hub.leave(second)
    await commit('3', stays)
    assert.deepEqual([left.updates, left.left, stays.updates], [1, [first, second], 2])
    const again = new CountingFeed()
    await follow('left', again)
    await commit('4', again)
    assert.deepEqual([left.updates, again.updates], [1, 1])
  })

  test('asks the store for nothing once nobody follows', async () => {
    const feed = new CountingFeed()
    const one = follower()
    await follow('a', feed, one)
    await until(() => asked > 0, 'the store to be asked')
    hub.leave(one)
    const before = asked
    height = '2'
    hub.committed()
    await sleep(POLL_MS)
    assert.equal(asked, before)
    // A later follower is served again.
    const later = new CountingFeed()
    await follow('a', later)
    await until(() => later.updates > 0, 'the new feed to be read')
  })

  test('forgets a follower that has closed before it had its first rows', async () => {
    const feed = new CountingFeed()
    const one = follower()
    feed.joined = async () => {
      one.isClosed = true
    }
    await follow('a', feed, one)
    assert.deepEqual(feed.left, [one])
    const before = asked
    await sleep(POLL_MS)
    assert.equal(asked, before)
  })

  test('finds commits of another program by itself', async () => {
    const feed = new CountingFeed()
    await follow('a', feed)
    await until(() => feed.updates === 1, 'the first read')
    height = '2'
    await until(() => feed.updates === 2, 'the second read')
    await sleep(POLL_MS)
    assert.equal(feed.updates, 2)
  })

  test('reads nothing of an empty store, and its first block when it is there', async () => {
    height = null
    const feed = new CountingFeed()
    await follow('a', feed)
    const before = asked
    await until(() => asked > before, 'the store to be asked')
    await sleep(5)
    assert.equal(feed.updates, 0)
    await commit('1', feed)
    assert.equal(feed.updates, 1)
    // A store that was emptied has nothing to read.
    height = null
    hub.committed()
    await sleep(20)
    assert.equal(feed.updates, 1)
  })

  test('misses no commit that is reported while a feed is read', async () => {
    const feed = new CountingFeed()
    const reading = Promise.withResolvers<void>()
    feed.work = () => reading.promise
    await follow('a', feed)
    await commit('2', feed)
    height = '3'
    hub.committed()
    hub.committed()
    await sleep(20)
    assert.equal(feed.updates, 1, 'a feed is read once at a time')
    feed.work = async () => {}
    reading.resolve()
    await until(() => feed.updates === 2, 'the feed to be read again')
    await sleep(POLL_MS)
    assert.equal(feed.updates, 2)
  })

  test('reads a feed again whose replica lags behind the one that was asked, until it has read as much', async () => {
    const feed = new CountingFeed()
    await follow('a', feed)
    await commit('2', feed)
    feed.storeHeight = () => '2'
    await commit('3', feed)
    await until(() => feed.updates >= 4, 'the feed to be read again')
    feed.storeHeight = () => '3'
    const before = feed.updates
    await until(() => feed.updates > before, 'the feed to be read')
    await sleep(5)
    const { updates } = feed
    // Once asked of the one that lags behind, the feed has more already.
    height = '2'
    hub.committed()
    await sleep(POLL_MS)
    assert.equal(feed.updates, updates)
  })

  test('looks for filled gaps after a commit that moves no position, for feeds alone that await some', async () => {
    const [awaits, does] = [new CountingFeed(), new CountingFeed()]
    await follow('awaits', awaits)
    await follow('does', does)
    await commit('2', does)
    awaits.awaitsGaps = true
    await commit('2', awaits)
    assert.deepEqual([awaits.updates, does.updates], [2, 1])
  })

  test('reads a feed again that could not be read, reports why once, and does not hold up others', async () => {
    const [failing, other] = [new CountingFeed(), new CountingFeed()]
    failing.work = async () => {
      throw new Error('the disk is full')
    }
    await follow('failing', failing)
    await follow('other', other)
    await commit('2', other)
    await until(() => failing.updates >= 3, 'the failing feed to be read again')
    assert.deepEqual(
      [other.updates, notices],
      [1, ['streams wait until the store can be read: the disk is full']],
    )
    failing.work = async () => {}
    const before = failing.updates
    await until(() => failing.updates > before, 'the feed to be read')
    await sleep(POLL_MS)
    assert.equal(failing.updates, before + 1)
    // The same fault is reported anew, since it had gone.
    failing.work = async () => {
      throw new Error('the disk is full')
    }
    await commit('3', failing)
    await until(() => notices.length === 2, 'the second notice')
  })

  test('goes on once a store that could not be asked can be asked again', async () => {
    const feed = new CountingFeed()
    fault = new Error('the store is away')
    await follow('a', feed)
    hub.committed()
    await until(() => asked >= 2, 'the store to be asked again')
    assert.deepEqual(notices, ['streams wait until the store can be read: the store is away'])
    assert.equal(feed.updates, 0)
    fault = null
    await until(() => feed.updates === 1, 'the feed to be read')
  })

  test('gives a sign of life to silent followers alone, also while the store cannot be read', async () => {
    fault = new Error('the store is away')
    const feed = new CountingFeed()
    const [silent, busy] = [follower({ isSilent: true }), follower()]
    await follow('a', feed, silent)
    await follow('a', feed, busy)
    await until(() => feed.signsOfLife.length > 0, 'a sign of life')
    assert.deepEqual(feed.signsOfLife[0], [silent])
    silent.isSilent = false
    await sleep(120)
    const before = feed.signsOfLife.length
    await sleep(POLL_MS)
    assert.equal(feed.signsOfLife.length, before)
  })
})
