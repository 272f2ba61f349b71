import assert from 'node:assert/strict'
import { linkSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { createEnvelope, EVENT_KIND, readEnvelope } from '#core/events/bus-event'
import { decodeUpgradeHeight, encodeDataNodeReady, readyHeightIn } from '#core/events/protocol-upgrade'
import { describeEventLog } from '#tools/cli/describe-event-log'
import { describeStatus } from '#tools/cli/describe-status'
import { statusOfEventLog } from '#tools/status/event-log-status'
import { statusOfService } from '#tools/status/service-status'
import { busEvent, frame, message, readRecording } from '../fixtures/events/event-stream.ts'
import { bufferPath } from '../fixtures/logs/old-buffer.ts'
import { metricsOf } from '../fixtures/requests/http.ts'
import { dial, eventsOf, HANDSHAKE, type TestCore } from '../fixtures/services/core.ts'
import { kill, readyOf, startLive, stop, untilHeight, untilReady } from '../fixtures/services/live.ts'
import { type LiveIngestion, startIngestion } from '../fixtures/services/live-ingestion.ts'
import { freePort } from '../fixtures/services/port.ts'
import { startReceiver, type TestReceiver } from '../fixtures/services/receiver.ts'
import { tryIngest } from '../fixtures/services/service.ts'
import { recorded } from '../fixtures/shared.ts'
import { heightIn, sqlite, temporaryFolder } from '../fixtures/stores/stores.ts'
import { until } from '../fixtures/until.ts'

/** What a real core sent before and after its restart at a snapshot, and before and after a protocol upgrade. */
const RESTART = ['restart-1', 'restart-2'].map((name) => eventsOf(recorded(name)))
const UPGRADE = ['upgrade-1', 'upgrade-2'].map((name) => eventsOf(recorded(name)))

const CHAIN = chainOf(RESTART[0]![0]!)
const UPGRADE_CHAIN = chainOf(UPGRADE[0]![0]!)

function chainOf(event: Buffer): string {
  const envelope = envelopeOf(event)
  return event.toString('utf8', envelope.chainIdStart, envelope.chainIdEnd)
}

function envelopeOf(event: Buffer) {
  const envelope = createEnvelope()
  readEnvelope(event, 0, event.length, envelope)
  return envelope
}

/** The messages from each BeginBlock to its EndBlock. */
function inBlocks(events: readonly Buffer[]): Buffer[] {
  let isOpen = false
  return events.filter((event) => {
    const { kind } = envelopeOf(event)
    if (kind === EVENT_KIND.beginBlock) isOpen = true
    const belongs = isOpen
    if (kind === EVENT_KIND.endBlock) isOpen = false
    return belongs
  })
}

const received = ({ connections }: TestReceiver): Buffer[] => connections.at(-1)?.messages ?? []

async function assertReceives(receiver: TestReceiver, expected: readonly Buffer[], what: string) {
  const lastOf = (messages: readonly Buffer[]) => messages.at(-1)
  await until(() => lastOf(received(receiver))?.equals(lastOf(expected)!) === true, what)
  const ids = (messages: readonly Buffer[]) =>
    messages.map((message) => {
      const { idStart, idEnd, kind } = envelopeOf(message)
      return `${message.toString('latin1', idStart, idEnd)} ${kind}`
    })
  assert.deepEqual(ids(received(receiver)), ids(expected), what)
  assert.ok(
    received(receiver).every((message, at) => message.equals(expected[at]!)),
    what,
  )
}

describe('events outside blocks, as a core sends them after its restart at a snapshot', () => {
  const expected = RESTART.flatMap(inBlocks)

  test('are not forwarded, whether the receiver is connected or connects later', async (t) => {
    const receiver = await startReceiver(t)
    const sender = await startIngestion(t, { port: receiver.port })
    await sender.core.send(RESTART[0]!)
    await assertReceives(receiver, inBlocks(RESTART[0]!), 'before the restart')
    await sender.core.close()
    sender.core = await dial(sender.port)
    await sender.core.send(RESTART[1]!)
    await assertReceives(receiver, expected, 'after it')
    await until(() => sender.live.outsideBlocks === 451, 'their count')
    await receiver.kill()
    const late = await startReceiver(t, { port: receiver.port })
    await assertReceives(late, expected, 'a receiver that connects afterwards')
  })

  test('are not forwarded if the service is restarted in between, in order or killed', async (t) => {
    for (const end of [stop, kill]) {
      const folder = temporaryFolder(t)
      const receiver = await startReceiver(t)
      const start = () =>
        startLive(t, join(folder, 'lyra.db'), join(folder, 'log'), [
          '--forward',
          `127.0.0.1:${receiver.port}`,
        ])
      const first = await start()
      await (await dial(first.corePort)).send(RESTART[0]!)
      await untilHeight(first, 350)
      await assertReceives(receiver, inBlocks(RESTART[0]!), 'before the restart')
      await end(first)
      const second = await start()
      await (await dial(second.corePort)).send(RESTART[1]!)
      await untilHeight(second, 354)
      // Only after an orderly end it goes on where it was.
      const rest = end === stop ? inBlocks(RESTART[1]!) : expected
      await assertReceives(receiver, rest, `after it: ${end.name}`)
      const isCounted = async () =>
        /^lyra_live_events_outside_blocks_total 451$/m.test(await metricsOf(second.base))
      await until(isCounted, 'their count')
      await receiver.kill()
      const late = await startReceiver(t, { port: receiver.port })
      await assertReceives(late, expected, `a receiver that connects afterwards: ${end.name}`)
    }
  })

  test('are not forwarded from the files that an earlier version has kept', async (t) => {
    const folder = temporaryFolder(t)
    const oldFolder = join(folder, 'buffer', 'forward')
    mkdirSync(oldFolder, { recursive: true })
    writeFileSync(bufferPath(oldFolder, 1), frame(RESTART[0]!))
    // The file that was written to is in both folders.
    writeFileSync(bufferPath(oldFolder, 2), frame(RESTART[1]!.slice(0, 700)))
    linkSync(bufferPath(oldFolder, 2), bufferPath(join(folder, 'buffer'), 2))
    const receiver = await startReceiver(t)
    const buffer = join(folder, 'buffer')
    const sender = await startIngestion(t, { folder, buffer, port: receiver.port })
    await sender.core.send(RESTART[1]!.slice(700))
    await assertReceives(receiver, expected, 'all blocks')
  })

  test('do not end the block that is open, and are not written', async (t) => {
    const folder = temporaryFolder(t)
    const sender = await startIngestion(t, { folder })
    const [before, after] = RESTART as [Buffer[], Buffer[]]
    const cut = after.findIndex((event) => envelopeOf(event).kind === EVENT_KIND.beginBlock) + 3
    await sender.core.send([...before, ...after.slice(0, cut), ...after.slice(0, 451), ...after.slice(cut)])
    await until(async () => (await heightIn(join(folder, 'lyra.db'))) === 354, 'the blocks')
    await until(() => sender.live.outsideBlocks === 902, 'their count')
    const log = join(folder, 'log')
    const bytes = readdirSync(log)
      .filter((name) => name.includes('.bevt'))
      .reduce((sum, name) => sum + readFileSync(join(log, name)).length, 0)
    assert.equal(bytes, frame([...inBlocks(before), ...inBlocks(after)]).length)
  })

  test('a block goes on after a restart of the service within it, and what is outside blocks is passed over', async (t) => {
    const folder = temporaryFolder(t)
    const receiver = await startReceiver(t)
    const [first, second] = RESTART as [Buffer[], Buffer[]]
    const rest = inBlocks(second)
    const cut = rest.length - 100
    const one = await startIngestion(t, { folder, port: receiver.port })
    await one.core.send([...first, ...second.slice(0, 451), ...rest.slice(0, cut)])
    await until(() => one.live.received === first.length + 451 + cut, 'the first part')
    await one.stop()
    const two = await startIngestion(t, { folder, port: receiver.port })
    // A stranger to the open block, then its rest.
    await two.core.send([...second.slice(0, 5), ...rest.slice(cut)])
    await until(async () => (await heightIn(join(folder, 'lyra.db'))) === 354, 'the blocks')
    await until(() => two.live.outsideBlocks === 5, 'their count')
    await receiver.kill()
    const late = await startReceiver(t, { port: receiver.port })
    await assertReceives(late, expected, 'a receiver that connects afterwards')
  })
})

/** The core's announcement of a protocol upgrade. */
const announcement = (height: number, chain = UPGRADE_CHAIN, id = `${height + 1}-1`) =>
  busEvent({ id, kind: 150, chain }, message({ 1: height }))

/** A receiver's answer. */
const ready = (height: number, { chain = UPGRADE_CHAIN, version = 1, id = `${height}-1` } = {}) =>
  busEvent({ id, kind: 154, chain, version }, message({ 1: height }))

/** The messages that come after the handshake. */
function messagesTo(core: TestCore): Buffer[] {
  const messages: Buffer[] = []
  let rest = Buffer.alloc(0)
  core.socket.on('data', (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk])
    while (rest.length >= 8 && rest.length >= 8 + Number(rest.readBigUInt64BE())) {
      const end = 8 + Number(rest.readBigUInt64BE())
      messages.push(rest.subarray(8, end))
      rest = rest.subarray(end)
    }
  })
  return messages
}

const sendTo = (receiver: TestReceiver, event: Buffer) => {
  const header = Buffer.alloc(8)
  header.writeBigUInt64BE(BigInt(event.length))
  receiver.connections.at(-1)!.socket.write(Buffer.concat([header, event]))
}

/** Connects another core, and collects what it is sent. */
async function redial(sender: LiveIngestion): Promise<Buffer[]> {
  await sender.core.close()
  sender.core = await dial(sender.port)
  return messagesTo(sender.core)
}

test('the answer to a protocol upgrade is the event that the core waits for', () => {
  const bytes = encodeDataNodeReady('a chain', 590n)
  const envelope = envelopeOf(bytes)
  assert.deepEqual([envelope.kind, envelope.version], [154, 1])
  assert.equal(decodeUpgradeHeight(envelope), 590n)
  assert.equal(readyHeightIn(bytes), 590n)
  assert.equal(bytes.toString('latin1', envelope.idStart, envelope.idEnd), '590-1')
  assert.equal(chainOf(encodeDataNodeReady('Ünïcode', 1n)), 'Ünïcode')
  // BusEventType of the event, as the core's own envelope has it.
  assert.ok(bytes.includes(Buffer.from([0x18, 55])))
  assert.equal(readyHeightIn(ready(590, { version: 2 })), null)
  assert.equal(readyHeightIn(announcement(590)), null)
  assert.equal(readyHeightIn(Buffer.from([0xff, 0xff])), null)
})

describe('a protocol upgrade without forwarding', () => {
  test('is answered once all blocks are in the log, again on a new connection, and no more after the next block', async (t) => {
    const folder = temporaryFolder(t)
    const sender = await startIngestion(t, { folder })
    const first = messagesTo(sender.core)
    await sender.core.send(UPGRADE[0]!)
    await until(() => first.length === 1, 'the answer')
    assert.equal(readyHeightIn(first[0]!), 590n)
    assert.equal(chainOf(first[0]!), UPGRADE_CHAIN)
    await until(async () => (await heightIn(join(folder, 'lyra.db'))) === 590, 'the blocks')
    await until(() => sender.live.upgrade?.waitsFor === null, 'its state')
    assert.equal(sender.live.upgrade!.height, '590')
    // The same core connects again, which does not repeat its announcement.
    const second = await redial(sender)
    await until(() => second.length === 1, 'the answer again')
    assert.ok(second[0]!.equals(first[0]!))
    await sender.core.send(UPGRADE[1]!)
    await until(async () => (await heightIn(join(folder, 'lyra.db'))) === 602, 'the blocks after it')
    await until(() => sender.live.upgrade === null, 'its end')
    const third = await redial(sender)
    await sender.core.send(UPGRADE[1]!)
    await until(() => sender.live.outsideBlocks > 451, 'the core')
    assert.equal(third.length, 0)
    await sender.stop()
  })

  test('is answered by the next process if the service ends first', async (t) => {
    const folder = temporaryFolder(t)
    const [lyra, log] = [join(folder, 'lyra.db'), join(folder, 'log')]
    const first = await startLive(t, lyra, log)
    const core = await dial(first.corePort)
    const answers = messagesTo(core)
    await core.send(UPGRADE[0]!)
    await until(() => answers.length === 1, 'the answer')
    await kill(first)
    const second = await startLive(t, lyra, log)
    const again = messagesTo(await dial(second.corePort))
    await until(() => again.length === 1, 'the answer of the next process')
    assert.equal(readyHeightIn(again[0]!), 590n)
    await stop(second)
  })

  test('is answered by a later process although the announcement was lost with a killed one', async (t) => {
    const folder = temporaryFolder(t)
    const [lyra, log] = [join(folder, 'lyra.db'), join(folder, 'log')]
    const first = await startLive(t, lyra, log)
    const core = await dial(first.corePort)
    await core.send(UPGRADE[0]!.slice(0, -1))
    await untilHeight(first, 590)
    await until(() => statusOfEventLog(log).receiver?.coreConnected === true, 'the state of the receiver')
    await kill(first)
    // Somebody sees a core that hangs, and restarts the service before it has answered.
    const second = await startLive(t, lyra, log)
    await dial(second.corePort)
    await stop(second)
    const third = await startLive(t, lyra, log)
    const again = messagesTo(await dial(third.corePort))
    await until(() => again.length === 1, 'the answer of a later process')
    assert.equal(readyHeightIn(again[0]!), 590n)
    await stop(third)
  })

  test('is named by /ready, which stays ready, by the status, the log and the metrics', async (t) => {
    const folder = temporaryFolder(t)
    // Blocks of last year: an upgrade explains that none comes.
    const service = await startLive(t, join(folder, 'lyra.db'), join(folder, 'log'), ['--max-behind', '60'])
    const core = await dial(service.corePort)
    const answers = messagesTo(core)
    await core.send(UPGRADE[0]!.slice(0, -1))
    await untilHeight(service, 590)
    assert.equal((await readyOf(service)).status, 503)
    await core.send(UPGRADE[0]!.slice(-1))
    await until(() => answers.length === 1, 'the answer')
    await until(async () => (await readyOf(service)).text.includes('protocolUpgrade'), 'readiness')
    await until(async () => (await readyOf(service)).status === 200, 'that it is ready')
    const { text } = await readyOf(service)
    assert.deepEqual(JSON.parse(text).protocolUpgrade, { height: '590', answered: true, waitingFor: null })
    const report = await statusOfService(service.base)
    assert.match(describeStatus(report), /^upgrade +after block 590: the core is answered/m)
    const metrics = await metricsOf(service.base)
    assert.match(metrics, /^lyra_live_upgrade_height 590$/m)
    assert.match(metrics, /^lyra_live_upgrade_wait_seconds 0$/m)
    await core.send(UPGRADE[1]!)
    await untilHeight(service, 602)
    await until(async () => !(await readyOf(service)).text.includes('protocolUpgrade'), 'its end')
    const log = service.program.output.stderr
    for (const line of [
      'protocol upgrade after block 590: the core makes no more blocks until it is answered',
      'protocol upgrade after block 590: all blocks are in the event log, the core is answered',
      'protocol upgrade after block 590: over, block 591 has begun',
    ]) {
      assert.ok(log.includes(line), `${line} is not in: ${log}`)
    }
  })

  test('breaks nothing if it is announced twice, for another height, within a block, or by a core that goes on', async (t) => {
    const folder = temporaryFolder(t)
    const sender = await startIngestion(t, { folder })
    const answers = messagesTo(sender.core)
    const blocks = UPGRADE[0]!.slice(0, -1)
    const middle = blocks.length - 5
    await sender.core.send([
      // Before any block, within one, and of a height that never was.
      announcement(578),
      ...blocks.slice(0, middle),
      announcement(589),
      announcement(590),
      ...blocks.slice(middle),
      announcement(1_000_000),
    ])
    await until(() => sender.live.upgrade?.height === '1000000', 'the last one')
    assert.equal(sender.live.upgrade!.waitsFor, 'block')
    await until(async () => (await heightIn(join(folder, 'lyra.db'))) === 590, 'the blocks')
    assert.equal(answers.length, 0)
    await sender.core.send([announcement(590), announcement(590)])
    await until(() => answers.length === 2, 'two answers')
    assert.ok(answers.every((answer) => readyHeightIn(answer) === 590n))
    // Without a height of 63 bits it is refused, as any message that cannot be read.
    await sender.core.send([busEvent({ id: '591-1', kind: 150, chain: UPGRADE_CHAIN }, message({ 1: -1n }))])
    await until(() => sender.live.faults['refused message'] === 1, 'the refusal')
    sender.core = await dial(sender.port)
    await sender.core.send(UPGRADE[1]!)
    await until(async () => (await heightIn(join(folder, 'lyra.db'))) === 602, 'the blocks after it')
    await until(() => sender.live.upgrade === null, 'its end')
  })

  test('of another chain, from a stranger, is refused', async (t) => {
    const folder = temporaryFolder(t)
    const sender = await startIngestion(t, { folder })
    await sender.core.send(UPGRADE[0]!.slice(0, -1))
    await until(async () => (await heightIn(join(folder, 'lyra.db'))) === 590, 'the blocks')
    // While a core is connected nobody else is heard.
    const second = connect(sender.port, '127.0.0.1')
    second.on('error', () => {})
    second.write(HANDSHAKE)
    await new Promise((resolve) => second.once('close', resolve))
    await sender.core.close()
    const stranger = await dial(sender.port)
    const answers = messagesTo(stranger)
    await stranger.send([announcement(590, CHAIN === UPGRADE_CHAIN ? 'other' : CHAIN)])
    await until(() => sender.live.faults['refused message'] === 1, 'the refusal')
    assert.equal(sender.live.upgrade, null)
    assert.equal(answers.length, 0)
  })
})

describe('a protocol upgrade with a receiver of forwarded events', () => {
  const announced = UPGRADE[0]!.at(-1)!
  const before = UPGRADE[0]!

  test('is passed on at once, the core is answered after it, and the blocks after it follow', async (t) => {
    const receiver = await startReceiver(t)
    const folder = temporaryFolder(t)
    const sender = await startIngestion(t, { folder, port: receiver.port })
    const answers = messagesTo(sender.core)
    await sender.core.send(before)
    await assertReceives(receiver, before, 'the announcement')
    await until(() => sender.live.upgrade?.waitsFor === 'receiver', 'its state')
    assert.equal(answers.length, 0)
    // Others first: of another height, of another version, no event, and the handshake of a flood.
    for (const other of [
      ready(589),
      ready(591),
      ready(590, { version: 2 }),
      Buffer.from('hello'),
      Buffer.alloc(0),
    ])
      sendTo(receiver, other)
    sendTo(receiver, ready(590, { id: '590-77' }))
    sendTo(receiver, ready(590, { id: '590-78' }))
    await until(() => answers.length === 1, 'the answer')
    assert.equal(readyHeightIn(answers[0]!), 590n)
    await until(() => sender.live.upgrade?.waitsFor === null, 'its state')
    const again = await redial(sender)
    await until(() => again.length === 1, 'the answer again')
    assert.ok(again[0]!.equals(answers[0]!))
    await sender.core.send(UPGRADE[1]!)
    await assertReceives(receiver, [...before, ...inBlocks(UPGRADE[1]!)], 'the blocks after it')
    await until(() => sender.live.upgrade === null, 'its end')
    assert.equal(answers.length, 1)
    assert.equal(sender.forward.missingBlocks, null)
  })

  test('reaches a receiver that connects later, also after a restart of the service; one that has answered does not get it again', async (t) => {
    const folder = temporaryFolder(t)
    const port = await freePort()
    const one = await startIngestion(t, { folder, port })
    await one.core.send(before)
    await until(() => one.live.upgrade?.waitsFor === 'receiver', 'the upgrade')
    const early = await startReceiver(t, { port })
    await assertReceives(early, before, 'a receiver that connects later')
    await one.stop()
    await early.kill()
    const late = await startReceiver(t, { port })
    const status = statusOfEventLog(join(folder, 'log'))
    assert.match(describeEventLog(status), /^upgrade +protocol upgrade after block 590: the core waits for/m)
    const two = await startIngestion(t, { folder, port })
    const answers = messagesTo(two.core)
    await until(
      () => late.connections.at(-1)?.messages.some((event) => event.equals(announced)) === true,
      'one after the restart',
    )
    sendTo(late, ready(590))
    await until(() => answers.length === 1, 'the answer')
    await late.kill()
    // A data node takes no event after its answer: it is restarted, as the core is.
    const restarted = await startReceiver(t, { port })
    await assertReceives(restarted, inBlocks(before), 'a receiver that has answered')
    await two.core.send(UPGRADE[1]!)
    await assertReceives(restarted, [...inBlocks(before), ...inBlocks(UPGRADE[1]!)], 'the blocks after it')
  })

  test('that is past an old one, which a core announces again after a restart from a snapshot, counts as ready', async (t) => {
    const receiver = await startReceiver(t)
    const folder = temporaryFolder(t)
    const sender = await startIngestion(t, { folder, port: receiver.port })
    const blocks = [...inBlocks(before), ...inBlocks(UPGRADE[1]!)]
    await sender.core.send(blocks)
    await assertReceives(receiver, blocks, 'the blocks')
    await sender.core.close()
    const again = await redial(sender)
    await sender.core.send(before)
    await until(() => again.length === 1, 'the answer')
    assert.equal(readyHeightIn(again[0]!), 590n)
    const log = () => statusOfEventLog(join(folder, 'log')).upgrade
    await until(() => log()?.waitingFor === null, 'the end of the wait')
    assert.equal(log()!.height, '590')
    assert.equal(
      receiver.connections.flatMap(({ messages }) => messages).some((event) => event.equals(announced)),
      false,
    )
  })

  test('says for whom the core waits after 10 s', async (t) => {
    const folder = temporaryFolder(t)
    const receiver = await startReceiver(t)
    const service = await startLive(t, join(folder, 'lyra.db'), join(folder, 'log'), [
      '--forward',
      `127.0.0.1:${receiver.port}`,
    ])
    await (await dial(service.corePort)).send(before)
    await until(async () => (await readyOf(service)).text.includes('protocolUpgrade'), 'readiness')
    const upgrade = async () => JSON.parse((await readyOf(service)).text).protocolUpgrade
    assert.deepEqual(await upgrade(), { height: '590', answered: false, waitingFor: null })
    const wait = 'the core waits for the receiver of forwarded events, which has not answered'
    await until(async () => (await upgrade()).waitingFor?.includes(wait) === true, 'for whom it waits')
    await untilReady(service)
    await until(() => service.program.output.stderr.includes(wait), 'the log')
    const seconds = /^lyra_live_upgrade_wait_seconds (.*)$/m.exec(await metricsOf(service.base))![1]
    assert.ok(Number(seconds) >= 9, `${seconds}`)
  })
})

test('events of a restart and of an upgrade in files are passed over and counted', async (t) => {
  const store = sqlite.create(t)
  const bytes = Buffer.concat(['restart-1', 'restart-2'].map((name) => readRecording(recorded(name))))
  const { report, failure } = await tryIngest(store, bytes)
  assert.equal(failure, null)
  assert.deepEqual([report.blocks, report.passedOver.outsideBlocks], [9, 451])
  const upgraded = sqlite.create(t)
  const both = Buffer.concat(['upgrade-1', 'upgrade-2'].map((name) => readRecording(recorded(name))))
  const second = await tryIngest(upgraded, both)
  assert.equal(second.failure, null)
  assert.deepEqual([second.report.blocks, second.report.passedOver.outsideBlocks], [24, 452])
})
