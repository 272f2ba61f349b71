import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { readyHeightIn } from '#core/events/protocol-upgrade'
import type { LogHead } from '#core/log/files/log-head'
import type { UpgradeState } from '#core/log/files/receiver-file'
import { LONG_UPGRADE_WAIT_MS, ProtocolUpgrade } from '#service/live/receive/protocol-upgrade'
import { capturedLog } from '../fixtures/services/service.ts'

const HEAD: LogHead = {
  chainId: 'test-chain',
  number: 1,
  first: 1n,
  last: 1n,
  bytes: 1,
  time: 1n,
  upgrade: null,
}

/** What a test of an upgrade after block 7 sees and decides. */
type World = {
  upgrade: ProtocolUpgrade
  /** Whether a core is connected. */
  isConnected: boolean
  /** Whether a receiver of forwarded events has not answered. */
  isUnanswered: boolean
  /** Heights of the answers that the core was sent. */
  sent: number[]
  said: () => string
  /** The log has all blocks up to a height. */
  commit: (height: number) => void
}

function worldOf({
  height = 5,
  isLeft = false,
  earlier = null as UpgradeState | null,
  mayHaveLost = false,
} = {}): World {
  const { logger, lines } = capturedLog('info')
  const head = { ...HEAD, upgrade: isLeft ? { height: 7n, event: Buffer.alloc(0) } : null }
  const world: World = {
    upgrade: new ProtocolUpgrade(
      {
        hasUnanswered: () => world.isUnanswered,
        logger,
        writer: { head },
        height: BigInt(height),
        earlier,
        mayHaveLost,
      },
      {
        send: (message) => {
          if (world.isConnected) world.sent.push(Number(readyHeightIn(message)))
          return world.isConnected
        },
        onChange: () => {},
      },
    ),
    isConnected: true,
    isUnanswered: false,
    sent: [],
    said: () => lines.map((line) => JSON.parse(line).msg).join('\n'),
    commit: (last) => world.upgrade.committed({ ...head, last: BigInt(last) }),
  }
  return world
}

const waitsFor = ({ upgrade }: World) => upgrade.readState()?.waitsFor

describe('A core that waits in a protocol upgrade', () => {
  test('is answered once its last block is in the log, and once', () => {
    const world = worldOf()
    world.upgrade.announced(7n)
    assert.deepEqual([waitsFor(world), world.sent], ['block', []])
    world.commit(6)
    assert.deepEqual(world.sent, [])
    world.commit(7)
    world.upgrade.upkeep()
    assert.deepEqual([waitsFor(world), world.sent], [null, [7]])
  })

  test('is answered at once if its last block is there, and again if it announces it again', () => {
    const world = worldOf({ height: 7 })
    world.upgrade.announced(7n)
    world.upgrade.announced(7n)
    assert.deepEqual(world.sent, [7, 7])
  })

  test('is answered only after the receivers of all forwarders', () => {
    const world = worldOf({ height: 7 })
    world.isUnanswered = true
    world.upgrade.announced(7n)
    world.upgrade.upkeep()
    assert.deepEqual([waitsFor(world), world.sent], ['receiver', []])
    world.isUnanswered = false
    world.upgrade.upkeep()
    assert.deepEqual(world.sent, [7])
  })

  test('is answered again on each connection until the next block begins', () => {
    const world = worldOf({ height: 7 })
    world.isConnected = false
    world.upgrade.announced(7n)
    assert.match(world.said(), /the core is answered once it connects/)
    for (let connection = 1; connection <= 2; connection++) {
      world.isConnected = true
      world.upgrade.connected()
      for (let second = 0; second < 3; second++) world.upgrade.upkeep()
      assert.equal(world.sent.length, connection)
    }
    world.upgrade.begun(7n)
    assert.notEqual(world.upgrade.readState(), null)
    world.upgrade.begun(8n)
    world.upgrade.connected()
    world.upgrade.upkeep()
    assert.deepEqual([world.upgrade.readState(), world.sent.length], [null, 2])
  })

  test('is answered by the next process, which knows it from the head, and since when from the state before', () => {
    const earlier = { height: '7', since: 1_000, waitsFor: 'block' as const }
    const world = worldOf({ height: 7, isLeft: true, earlier })
    assert.deepEqual(world.upgrade.readState(), { height: '7', since: 1_000, waitsFor: null })
    world.upgrade.upkeep()
    assert.deepEqual(world.sent, [7])
    const other = worldOf({ isLeft: true, earlier: { ...earlier, height: '6' } })
    assert.ok(other.upgrade.readState()!.since > 1_000)
  })

  test('is answered after the last block if it begins none, and the announcement may be lost with a killed process', (t: TestContext) => {
    t.mock.timers.enable({ apis: ['Date'], now: 1_000_000 })
    const upkeepAfter = (world: World, ms: number) => {
      t.mock.timers.tick(ms)
      world.upgrade.upkeep()
    }
    const world = worldOf({ height: 7, mayHaveLost: true })
    upkeepAfter(world, 60_000)
    assert.deepEqual(world.sent, [])
    // Once on each connection.
    for (const sent of [[7], [7, 7]]) {
      world.upgrade.connected()
      upkeepAfter(world, LONG_UPGRADE_WAIT_MS - 1)
      assert.equal(world.sent.length, sent.length - 1)
      for (let second = 0; second < 3; second++) upkeepAfter(world, 1_000)
      assert.deepEqual([world.sent, world.upgrade.readState()], [sent, null])
    }
    assert.match(world.said(), /if it waits in a protocol upgrade after block 7, .* it is answered/)
    const isSent = (other: World) => {
      other.upgrade.connected()
      upkeepAfter(other, 60_000)
      return other.sent.length > 0
    }
    const [begun, forwarded, announced] = [1, 2, 3].map(() => worldOf({ height: 7, mayHaveLost: true }))
    begun!.upgrade.begun(8n)
    forwarded!.isUnanswered = true
    announced!.upgrade.announced(9n)
    const others = [
      worldOf({ height: 7 }),
      worldOf({ height: -1, mayHaveLost: true }),
      begun!,
      forwarded!,
      announced!,
    ]
    assert.deepEqual(others.map(isSent), [false, false, false, false, false])
  })

  test('is named once it has waited for long, each upgrade once', (t: TestContext) => {
    t.mock.timers.enable({ apis: ['Date'], now: 1_000_000 })
    const world = worldOf()
    const lines = () => world.said().match(/the core waits for block \d+/g)
    world.upgrade.announced(7n)
    world.upgrade.upkeep()
    assert.equal(lines(), null)
    t.mock.timers.tick(LONG_UPGRADE_WAIT_MS)
    for (let second = 0; second < 3; second++) world.upgrade.upkeep()
    world.upgrade.announced(9n)
    t.mock.timers.tick(LONG_UPGRADE_WAIT_MS)
    for (let second = 0; second < 3; second++) world.upgrade.upkeep()
    assert.deepEqual(lines(), ['the core waits for block 7', 'the core waits for block 9'])
  })
})
