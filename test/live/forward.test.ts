import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { createEnvelope, EVENT_KIND, readEnvelope } from '#core/events/bus-event'
import { describeStatus } from '#tools/cli/describe-status'
import { generateRecords } from '#tools/generate/generate'
import { statusOfService } from '#tools/status/service-status'
import { assertSays, patternOf } from '../fixtures/assert-says.ts'
import { eventsOf, frame } from '../fixtures/events/event-stream.ts'
import { mountSmallDisk } from '../fixtures/faults/small-disk.ts'
import { bufferPath } from '../fixtures/logs/old-buffer.ts'
import { metricsOf } from '../fixtures/requests/http.ts'
import { dial, eventsIn, HANDSHAKE } from '../fixtures/services/core.ts'
import {
  blocksOf,
  bytesIn,
  kill,
  readyOf,
  startLive,
  stop,
  untilHeight,
  untilReady,
} from '../fixtures/services/live.ts'
import { startIngestion } from '../fixtures/services/live-ingestion.ts'
import { freePort } from '../fixtures/services/port.ts'
import { startReceiver, type TestReceiver } from '../fixtures/services/receiver.ts'
import { storeOf } from '../fixtures/services/service.ts'
import { SAMPLE, skip } from '../fixtures/shared.ts'
import { assertEqualStores } from '../fixtures/stores/digest-store.ts'
import { heightIn, sqlite, temporaryFolder } from '../fixtures/stores/stores.ts'
import { until } from '../fixtures/until.ts'

const KB = 1024
const MB = 1024 * KB

const blocks = await blocksOf(SAMPLE)
const last = blocks.length

/** Waits until the receiver has the last expected message. */
const untilLast = (receiver: TestReceiver, message: Buffer) =>
  until(() => receiver.connections.at(-1)?.messages.at(-1)?.equals(message) ?? false, 'the last message')

/** Waits until it has the last message of a block. */
const untilBlock = (receiver: TestReceiver, height: number) =>
  untilLast(receiver, blocks[height - 1]!.at(-1)!)

/** Messages in short: the first bytes, the length and a digest of each. */
const short = (messages: readonly Buffer[]) =>
  messages.map(
    (message) =>
      `${message.toString('latin1', 2, 10)} ${message.length} ${createHash('sha1').update(message).digest('hex')}`,
  )

/** Those of blocks, each as the core sends them. */
const shortOf = (after: number, to: number) => short(blocks.slice(after, to).flat())

const heightOf = (message: Buffer) => Number(/^(\d+)-/.exec(message.toString('latin1', 2, 30))![1])

function kindOf(message: Buffer): number {
  const envelope = createEnvelope()
  readEnvelope(message, 0, message.length, envelope)
  return envelope.kind
}

/** The events of a few blocks, of which the first has two parts, as a network's has. */
function generatedBlocks() {
  const all = eventsIn(Buffer.concat([...generateRecords({ blocks: 8, markets: 1, points: 1 })]))
  const parts = all.filter((event) => heightOf(event) === 1)
  assert.equal(parts.filter((event) => kindOf(event) === EVENT_KIND.beginBlock).length, 2)
  return { all, parts, others: all.slice(parts.length), end: all.at(-1)! }
}

/** Each connection begins with the first event of a block, its heights only rise, and no message is repeated. */
function assertInOrder(receiver: TestReceiver): void {
  for (const [index, { messages }] of receiver.connections.entries()) {
    if (messages.length === 0) continue
    assert.equal(kindOf(messages[0]!), EVENT_KIND.beginBlock, `connection ${index} begins within a block`)
    const texts = messages.map((message) => message.toString('latin1'))
    assert.equal(new Set(texts).size, texts.length, `connection ${index} repeats a message`)
    const heights = messages.map(heightOf)
    assert.ok(
      heights.every((height, at) => at === 0 || height >= heights[at - 1]!),
      `connection ${index} goes back`,
    )
  }
}

/** A receiver's messages, in short, by connection. */
const received = ({ connections }: TestReceiver) => connections.map(({ messages }) => short(messages))

const untilStored = (folder: string, height: number) =>
  until(async () => (await heightIn(join(folder, 'lyra.db'))) === height, 'the store')

test('a second Lyra that receives forwarded events has the same tables in the end, although killed and restarted in between', async (t) => {
  const folder = temporaryFolder(t)
  const port = await freePort()
  const startReceiving = () =>
    startLive(t, join(folder, 'second.db'), join(folder, 'second-log'), ['--listen', `127.0.0.1:${port}`])
  let second = await startReceiving()
  const first = await startLive(t, join(folder, 'first.db'), join(folder, 'first-log'), [
    '--forward',
    `127.0.0.1:${port}`,
    '--event-log-keep',
    '16MiB',
  ])
  const core = await dial(first.corePort)
  const parts = 2
  for (let part = 0; part < parts; part++) {
    const to = Math.floor((last * (part + 1)) / (parts + 1))
    await core.send(blocks.slice(Math.floor((last * part) / (parts + 1)), to).flat())
    await untilHeight(first, to)
    // Killed while blocks are in transit, and once after all have arrived.
    if (part === 1) await untilHeight(second, to)
    await kill(second)
    const metrics = await metricsOf(first.base)
    assertSays(metrics, 'lyra_forward_enabled 1')
    // The service is ready without the receiver.
    await untilReady(first)
    second = await startReceiving()
  }
  await core.send(blocks.slice(Math.floor((last * parts) / (parts + 1))).flat())
  await untilHeight(second, last)
  await untilReady(second)
  await until(async () => /"height":"905","lagBytes":0/.test((await readyOf(first)).text), 'no lag')
  const metrics = await metricsOf(first.base)
  assertSays(metrics, 'lyra_forward_connected 1\n')
  assertSays(metrics, 'lyra_forward_block_height 905\n')
  assertSays(metrics, 'lyra_forward_lag_seconds 0\n')
  const status = describeStatus(await statusOfService(first.base))
  assert.match(status, /^forwarding +receiver connected, forwarded up to block 905, nothing waits$/m)
  await core.close()
  await stop(first)
  await stop(second)
  const plain = await storeOf(t, sqlite, SAMPLE)
  for (const name of ['first.db', 'second.db']) await assertEqualStores(join(folder, name), plain)
})

describe('a receiver of forwarded events', () => {
  test('gets every message of blocks as the core sent it, in order, whole blocks once, and nothing outside them', async (t) => {
    const receiver = await startReceiver(t)
    const sender = await startIngestion(t, { port: receiver.port })
    // Events of block 3 after its end, and of the last block, which nothing follows.
    const outside = (height: number) => blocks[height - 1]!.slice(1, 3)
    const sent = blocks.slice(0, 10).flat()
    await sender.core.send([...blocks.slice(0, 3), outside(3), ...blocks.slice(3, 10), outside(10)])
    await untilBlock(receiver, 10)
    await until(() => sender.live.outsideBlocks === 4, 'the events outside blocks')
    await until(() => sender.forward.height === '10', 'its state')
    assert.equal(sender.forward.connected, true)
    await until(() => sender.forward.lagBytes === 0 && sender.forward.messages === sent.length, 'no lag')
    // Blocks that the core repeats, and one that it first sends in part.
    await sender.core.send([...blocks.slice(0, 30).flat(), ...blocks[30]!.slice(0, 3)])
    await untilBlock(receiver, 30)
    await sender.core.send(blocks.slice(29, 40))
    await untilBlock(receiver, 40)
    assert.deepEqual(received(receiver), [short([...sent, ...blocks.slice(10, 40).flat()])])
  })

  test('gets each of the two parts of block 1 once in a connection, however often a core repeats them', async (t) => {
    const { parts, others, all, end } = generatedBlocks()
    const receiver = await startReceiver(t)
    const { core } = await startIngestion(t, { port: receiver.port })
    await core.send([parts, parts, others.filter((event) => heightOf(event) === 2)])
    await until(() => heightOf(receiver.connections[0]?.messages.at(-1) ?? parts[0]!) === 2, 'block 2')
    await core.send([parts, others])
    await untilLast(receiver, end)
    assert.deepEqual(received(receiver), [short(all)])
  })

  test('gets both parts of block 1, also if the core repeats the blocks after it before they are forwarded', async (t) => {
    const { parts, others, all, end } = generatedBlocks()
    const folder = temporaryFolder(t)
    const port = await freePort()
    const { core } = await startIngestion(t, { folder, port })
    await core.send([parts, others.filter((event) => heightOf(event) < 5), others])
    await untilStored(folder, heightOf(end))
    const receiver = await startReceiver(t, { port })
    await untilLast(receiver, end)
    assert.deepEqual(received(receiver), [short(all)])
  })

  test('gets the first copy of a block that the core did not repeat completely', async (t) => {
    const receiver = await startReceiver(t)
    const port = await freePort()
    const sender = await startIngestion(t, { port })
    // Only the beginning of block 26 is repeated.
    await sender.core.send([...blocks.slice(0, 30), ...blocks.slice(19, 25), blocks[25]!.slice(0, 2)])
    await sender.core.send(blocks.slice(26, 40))
    await until(() => sender.forward.lagBlocks >= 39, 'its lag')
    await receiver.kill()
    const late = await startReceiver(t, { port })
    await untilBlock(late, 40)
    assert.deepEqual(received(late), [shortOf(0, 40)])
    await until(() => sender.forward.height === '40', 'its state')
    assert.equal(sender.forward.missingBlocks, null)
  })

  for (const [what, rest] of [
    ['block', []],
    ['event', blocks[20]!.toSpliced(2, 1)],
  ] as const) {
    test(`gets the events after a missing ${what} in a new connection, and all after a repeat`, async (t) => {
      const receiver = await startReceiver(t)
      const folder = temporaryFolder(t)
      const service = await startLive(t, join(folder, 'lyra.db'), join(folder, 'log'), [
        '--forward',
        `127.0.0.1:${receiver.port}`,
      ])
      const core = await dial(service.corePort)
      await core.send(blocks.slice(0, 20))
      await untilBlock(receiver, 20)
      await core.send([rest, ...blocks.slice(21, 40)].flat())
      await until(() => receiver.connections.length === 2, 'a second connection')
      await untilBlock(receiver, 40)
      assert.deepEqual(received(receiver), [shortOf(0, 20), shortOf(21, 40)])
      const missing = 'block 21 missing...restarted from a snapshot before block 21'
      const status = async () => describeStatus(await statusOfService(service.base))
      await until(async () => patternOf(missing).test(await status()), 'its status')
      assertSays((await readyOf(service)).text, '"missingBlocks":{"from":"21","to":"21"}')
      assertSays(service.program.output.stderr, missing)
      await core.send(blocks.slice(10, 50))
      await until(() => receiver.connections.length === 3, 'a third connection')
      await untilBlock(receiver, 50)
      assert.deepEqual(received(receiver)[2], shortOf(0, 50))
      await until(async () => /"missingBlocks":null/.test((await readyOf(service)).text), 'nothing missing')
    })
  }

  test('that was unreachable also gets the blocks before a gap', async (t) => {
    const folder = temporaryFolder(t)
    const port = await freePort()
    const sender = await startIngestion(t, { folder, port })
    await sender.core.send([...blocks.slice(0, 26), ...blocks.slice(39, 60)])
    await until(() => sender.forward.lagBlocks >= 59, 'its lag')
    const receiver = await startReceiver(t, { port })
    await untilBlock(receiver, 60)
    assert.deepEqual(received(receiver), [shortOf(0, 26), shortOf(39, 60)])
    await until(() => sender.forward.missingBlocks?.from === '27', 'the missing blocks')
    assert.equal(sender.forward.missingBlocks!.to, '39')
  })

  test('gets the blocks after each of several gaps without waiting longer each time', async (t) => {
    const receiver = await startReceiver(t)
    const sender = await startIngestion(t, { port: receiver.port })
    await until(() => receiver.connections.length === 1, 'the first connection')
    await sender.core.send([1, 3, 5, 7, 9].map((height) => blocks[height - 1]!))
    await until(
      () => receiver.connections.at(-1)?.messages.at(-1)?.equals(blocks[8]!.at(-1)!) ?? false,
      'block 9',
      8,
    )
    assert.deepEqual(
      received(receiver),
      [1, 3, 5, 7, 9].map((height) => shortOf(height - 1, height)),
    )
    // Blocks 3, 5 and 7 are not missing.
    await until(() => sender.forward.missingCount === 4, 'what is missing')
    assert.deepEqual(sender.forward.missingBlocks, { from: '2', to: '8' })
    // The first missing block may still be missing.
    await sender.core.send([blocks[3]!, blocks[4]!])
    await until(() => sender.forward.missingCount === 3, 'block 4')
    await untilBlock(receiver, 5)
    assert.deepEqual(received(receiver)[5], shortOf(2, 5))
    assert.deepEqual(sender.forward.missingBlocks, { from: '2', to: '8' })
    await sender.core.send(blocks.slice(1, 10))
    await until(() => sender.forward.missingCount === 0, 'nothing missing')
    assert.equal(sender.forward.missingBlocks, null)
  })

  test('that is unreachable is told of the blocks that the log has no more; the log never takes much more than it keeps', async (t) => {
    const folder = temporaryFolder(t)
    const receiver = await startReceiver(t)
    const bytes = 16 * MB
    const sender = await startIngestion(t, { folder, port: receiver.port, keep: { bytes } })
    const all = largeBlocks(600)
    await sender.core.send(all.slice(0, 10))
    await until(() => sender.forward.height === '10', 'the first blocks')
    await receiver.kill()
    await until(() => !sender.forward.connected, 'the end')
    let most = 0
    for (let at = 10; at < all.length; at += 10) {
      await sender.core.send(all.slice(at, at + 10))
      await untilStored(folder, at + 10)
      most = Math.max(most, bytesIn(join(folder, 'log')))
    }
    await until(() => sender.live.received === all.flat().length, 'all events')
    await until(() => bytesIn(join(folder, 'log')) <= bytes + 3 * MB, 'the limit')
    assert.ok(most >= bytes, `${most} bytes`)
    const again = await startReceiver(t, { port: receiver.port })
    await untilLast(again, all.at(-1)!.at(-1)!)
    assertInOrder(again)
    await until(() => sender.forward.missingBlocks !== null, 'the missing blocks')
    const begins = heightOf(again.connections.at(-1)!.messages[0]!)
    assert.deepEqual(sender.forward.missingBlocks, { from: '11', to: `${begins - 1}` })
    assert.ok(begins > 100, `${begins}`)
  })

  test('that was unreachable gets the events it missed, also after a restart of Lyra', async (t) => {
    const folder = temporaryFolder(t)
    const port = await freePort()
    const first = await startIngestion(t, { folder, port })
    await first.core.send(blocks.slice(0, 200))
    await until(() => first.forward.lagBlocks >= 199 && first.live.bytesLeft >= 0, 'its lag')
    await until(() => /unreachable|away/.test(first.forward.failure ?? ''), 'its fault')
    await first.stop()
    const second = await startIngestion(t, { folder, port })
    await second.core.send(blocks.slice(200, 300))
    const receiver = await startReceiver(t, { port })
    await untilBlock(receiver, 300)
    assert.deepEqual(received(receiver), [shortOf(0, 300)])
    await until(() => second.forward.failure === null && second.forward.lagBlocks === 0, 'no fault')
    await second.stop()
    // A receiver that stays meanwhile gets nothing twice.
    const third = await startIngestion(t, { folder, port })
    await third.core.send(blocks.slice(290, 350))
    await untilBlock(receiver, 350)
    assert.deepEqual(received(receiver).slice(1), [shortOf(300, 350)])
    // One that was lost may have lost blocks: it gets all that are kept.
    await receiver.kill()
    const again = await startReceiver(t, { port })
    await untilBlock(again, 350)
    assert.deepEqual(received(again), [shortOf(0, 350)])
  })

  test("gets all in order if the core connects before Lyra has read an earlier process's buffer", async (t) => {
    const folder = temporaryFolder(t)
    const buffer = join(folder, 'buffer')
    mkdirSync(buffer)
    const logged = blocks.slice(0, 400)
    for (const [index, events] of logged.entries()) {
      const sequence = BigInt(1 + logged.slice(0, index).flat().length)
      writeFileSync(bufferPath(buffer, index + 1), frame(events, sequence))
    }
    const receiver = await startReceiver(t)
    const core = { port: await freePort(), messages: blocks.slice(350, 500).flat() }
    await startIngestion(t, { folder, buffer, port: receiver.port, core })
    await untilBlock(receiver, 500)
    assert.deepEqual(received(receiver).at(-1), shortOf(0, 500))
  })

  test('that reads nothing delays nothing, and gets all that the log has when it is started again', async (t) => {
    const folder = temporaryFolder(t)
    const receiver = await startReceiver(t, { reads: false })
    const sender = await startIngestion(t, { folder, port: receiver.port })
    await until(() => receiver.connections.length === 1, 'a connection')
    // More than the system buffers for a connection.
    const large = largeBlocks(250)
    await sender.core.send(large)
    await until(() => sender.live.received === large.flat().length, 'all events')
    await untilStored(folder, large.length)
    await until(() => sender.forward.lagBytes > 0, 'its lag')
    await receiver.kill()
    const again = await startReceiver(t, { port: receiver.port })
    await untilLast(again, large.at(-1)!.at(-1)!)
    assertInOrder(again)
    assert.deepEqual(received(again).at(-1), short(large.flat()))
    assert.equal(sender.forward.missingBlocks, null)
  })

  for (const [what, greeting] of [
    ['another protocol', Buffer.from('0053500000200000', 'hex')],
    ['no scalability protocol', Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')],
    ['nothing at all', Buffer.alloc(0)],
    ['messages without an end', Buffer.concat([HANDSHAKE, Buffer.alloc(MB)])],
  ] as const) {
    test(`that answers ${what} is connected again, and the ingestion continues`, async (t) => {
      const folder = temporaryFolder(t)
      const receiver = await startReceiver(t, { greeting })
      const sender = await startIngestion(t, { folder, port: receiver.port })
      await sender.core.send(blocks.slice(0, 20))
      await untilStored(folder, 20)
      await until(() => /unreachable|away/.test(sender.forward.failure ?? ''), 'its fault')
      await until(() => receiver.dialled > 1, 'another try')
    })
  }

  test('gets the blocks after a damaged segment, and is told of those in it', async (t) => {
    const folder = temporaryFolder(t)
    const port = await freePort()
    const first = await startIngestion(t, { folder, port })
    // Two segments, since a block is missing between them.
    await first.core.send([...blocks.slice(0, 20), ...blocks.slice(21, 30)])
    await until(() => first.forward.lagBlocks >= 29, 'its lag')
    await first.stop()
    const sealed = join(folder, 'log', '0000000001-1-20.bevt')
    const bytes = readFileSync(sealed)
    const middle = Math.floor(bytes.length / 2)
    bytes.fill(255, middle, middle + 100)
    writeFileSync(sealed, bytes)
    const receiver = await startReceiver(t, { port })
    const second = await startIngestion(t, { folder, port })
    await second.core.send(blocks.slice(30, 40))
    await untilBlock(receiver, 40)
    assertInOrder(receiver)
    assert.deepEqual(received(receiver).at(-1), shortOf(21, 40))
    const { from, to } = second.forward.missingBlocks!
    assert.ok(Number(from) > 1 && Number(from) < 20, from)
    assert.equal(to, '21')
  })

  test('is not waited for if the disk is full: the oldest segments that the store has are deleted', async (t) => {
    const disk = mountSmallDisk(t, 12 * MB)
    if (disk === null) return skip(t, 'cannot mount a file system')
    const folder = temporaryFolder(t)
    const port = await freePort()
    const eventLog = join(disk.folder, 'log')
    const keep = { bytes: 16 * MB }
    const sender = await startIngestion(t, { folder, port, eventLog, keep })
    const large = largeBlocks(250)
    for (let at = 0; at < large.length; at += 10) {
      await sender.core.send(large.slice(at, at + 10))
      await until(() => sender.live.received === large.slice(0, at + 10).flat().length, 'its events')
    }
    await untilStored(folder, large.length)
    await until(() => sender.live.failures.length === 0, 'no fault')
  })
})

/** Blocks of about 64 KiB each, with an event that nobody reads. */
function largeBlocks(count: number): Buffer[][] {
  const events = [{ kind: 102, body: new Uint8Array(64 * KB) }]
  return Array.from({ length: count }, (_, index) => eventsOf([{ height: index + 1, events }]))
}
