import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { createEnvelope, EVENT_KIND, readEnvelope } from '#core/events/bus-event'
import { decodeUpgradeHeight, encodeDataNodeReady } from '#core/events/protocol-upgrade'
import { DialError } from '#tools/generate/dial-error'
import { generateBlocks } from '#tools/generate/generate'
import { sendTo } from '#tools/generate/send-to'
import type { SendOptions } from '#tools/generate/sending-core'
import { fieldsOf, textIn } from '../fixtures/events/wire-fields.ts'
import { metricsOf } from '../fixtures/requests/http.ts'
import { eventsIn, frame } from '../fixtures/services/core.ts'
import { startLive, stop, untilHeight } from '../fixtures/services/live.ts'
import { assertFails, runWell, startLyra } from '../fixtures/services/program.ts'
import { startReceiver, type TestReceiver } from '../fixtures/services/receiver.ts'
import { tryIngest } from '../fixtures/services/service.ts'
import { assertEqualStores } from '../fixtures/stores/digest-store.ts'
import { ANY_STORE_KIND, temporaryFolder } from '../fixtures/stores/stores.ts'
import { until } from '../fixtures/until.ts'

const OPTIONS = { blocks: 50, markets: 2, points: 2, parties: 6, seed: 3, chain: 'restarted-chain' }
const BLOCKS = [...generateBlocks(OPTIONS)]
const BYTES = Buffer.concat(BLOCKS.map(({ records }) => records))

/** The events of the blocks from one to another. */
const eventsOfBlocks = (from: number, to: number) =>
  BLOCKS.slice(from - 1, to).flatMap(({ records }) => eventsIn(records))

const idOf = (event: Buffer) => textIn(fieldsOf(event), 1)
const hashOf = (event: Buffer) => textIn(fieldsOf(event), 2)

function kindOf(event: Buffer): number {
  return Number([...fieldsOf(event)].at(-1)![0])
}

/** Sends all blocks at once, as a core that restarts. */
async function sendAll(
  t: TestContext,
  { port }: TestReceiver,
  options: Partial<SendOptions>,
): Promise<string[]> {
  const lines: string[] = []
  const report = (line: string) => lines.push(line)
  const settings = { speed: 1, start: Number.POSITIVE_INFINITY, report, ...options }
  await sendTo({ host: '127.0.0.1', port }, settings, t.signal, async (send) => {
    for (const block of BLOCKS) await send(block)
  })
  return lines
}

/** Checks that events are those of the state outside blocks, and returns the rest. */
function assertOutside(events: readonly Buffer[], height: number): Buffer[] {
  const count = events.findIndex((event) => kindOf(event) === EVENT_KIND.beginBlock)
  const outside = events.slice(0, count)
  assert.ok(count > 200 && count < 1_000, String(count))
  assert.deepEqual(
    outside.map(idOf),
    outside.map((_, at) => `${height}-${at + 1}`),
  )
  const hash = hashOf(eventsOfBlocks(height, height).at(-1)!)
  for (const event of outside) {
    const fields = fieldsOf(event)
    assert.deepEqual([textIn(fields, 2), textIn(fields, 5)], [hash, OPTIONS.chain])
  }
  // They would be in the store if they were taken for a block's.
  const kinds = new Set(outside.map(kindOf))
  for (const kind of [101, 116, 117, 124, 131]) assert.ok(kinds.has(kind), `kind ${kind}`)
  return events.slice(count)
}

/** Answers each announcement of an upgrade as a data node does, and before it with another height. */
function answerUpgrades({ connections }: TestReceiver, signal: AbortSignal): void {
  const answered = new Set<Buffer>()
  const timer = setInterval(() => {
    for (const { messages, socket } of connections) {
      for (const message of messages) {
        if (answered.has(message) || kindOf(message) !== EVENT_KIND.protocolUpgradeStarted) continue
        answered.add(message)
        const envelope = createEnvelope()
        readEnvelope(message, 0, message.length, envelope)
        const height = decodeUpgradeHeight(envelope)
        socket.write(frame(encodeDataNodeReady(OPTIONS.chain, height + 1n)))
        setTimeout(() => socket.write(frame(encodeDataNodeReady(OPTIONS.chain, height))), 50)
      }
    }
  }, 10)
  signal.addEventListener('abort', () => clearInterval(timer))
}

describe('a generated core that restarts', () => {
  test('connects anew, repeats its state outside blocks, then the blocks since its snapshot', async (t) => {
    const receiver = await startReceiver(t)
    const lines = await sendAll(t, receiver, { restartEvery: 15 })
    assert.deepEqual(lines, [
      'restarted after block 15 from the snapshot of block 10: 5 blocks sent again',
      'restarted after block 30 from the snapshot of block 30: 0 blocks sent again',
      'restarted after block 45 from the snapshot of block 40: 5 blocks sent again',
    ])
    const connections = receiver.connections.map(({ messages }) => messages)
    assert.equal(connections.length, 4)
    assert.deepEqual(connections[0], eventsOfBlocks(1, 15))
    assert.deepEqual(assertOutside(connections[1]!, 10), eventsOfBlocks(11, 30))
    assert.deepEqual(assertOutside(connections[2]!, 30), eventsOfBlocks(31, 45))
    assert.deepEqual(assertOutside(connections[3]!, 40), eventsOfBlocks(41, 50))
  })

  test('may do so after every block, the first one too', async (t) => {
    const receiver = await startReceiver(t)
    await sendAll(t, receiver, { restartEvery: 1 })
    assert.equal(receiver.connections.length, 50)
    assert.deepEqual(assertOutside(receiver.connections[1]!.messages, 1), eventsOfBlocks(2, 2))
  })
})

describe('a generated protocol upgrade', () => {
  test('is announced after its block, and goes on once the receiver is ready for this height', async (t) => {
    const receiver = await startReceiver(t)
    answerUpgrades(receiver, t.signal)
    const lines = await sendAll(t, receiver, { upgrade: 24 })
    assert.match(lines[0]!, /^protocol upgrade after block 24: the receiver was ready after \d+ ms$/)
    assert.ok(Number(/(\d+) ms/.exec(lines[0]!)![1]) >= 49, lines[0]!)
    assert.deepEqual(lines.slice(1), [
      'restarted after block 24 from the snapshot of block 24: 0 blocks sent again',
    ])
    const [before, after] = receiver.connections.map(({ messages }) => messages)
    const announcement = before!.at(-1)!
    assert.deepEqual(before!.slice(0, -1), eventsOfBlocks(1, 24))
    assert.deepEqual([idOf(announcement), kindOf(announcement)], ['25-1', 150])
    assert.equal(fieldsOf(announcement).get(3)![0], 51n)
    assert.equal(hashOf(announcement), hashOf(eventsOfBlocks(25, 25)[0]!))
    assert.deepEqual(assertOutside(after!, 24), eventsOfBlocks(25, 50))
  })

  test('ends with an error if the receiver says nothing, ends the connection, or never comes that far', async (t) => {
    const receiver = await startReceiver(t)
    const address = `--dial 127.0.0.1:${receiver.port}: `
    await assert.rejects(sendAll(t, receiver, { upgrade: 24, readyTimeoutMs: 200 }), {
      name: DialError.name,
      message: `${address}no ProtocolUpgradeDataNodeReady for block 24 within 0.2 s; the service's /ready says what it waits for`,
    })
    const sending = sendAll(t, receiver, { upgrade: 24 })
    await until(() => receiver.connections[1]?.messages.at(-1)?.includes('25-1') === true, 'announcement')
    const rejected = assert.rejects(sending, { name: DialError.name, message: /closed by the receiver/ })
    receiver.connections[1]!.socket.end()
    await rejected
    const missing = { message: '--upgrade 50: the recording has no such block, or none after it' }
    await assert.rejects(sendAll(t, receiver, { upgrade: 50 }), missing)
  })
})

for (const kind of ANY_STORE_KIND) {
  test(`A service is left with the store of the file by a core that restarts and is upgraded (${kind.name})`, async (t) => {
    const folder = temporaryFolder(t)
    const file = join(folder, 'blocks.evts')
    writeFileSync(file, BYTES)
    const store = kind.create(t)
    const live = await startLive(t, store, join(folder, 'log'))
    const dial = `--dial 127.0.0.1:${live.corePort}`
    const sender = await runWell(
      t,
      `generate --replay ${file} --start 100 --restart-every 7 --upgrade 24 ${dial}`,
    )
    assert.match(sender.stderr, /^protocol upgrade after block 24: the receiver was ready after \d+ ms$/m)
    assert.equal(sender.stderr.match(/^restarted after /gm)!.length, 8)
    await untilHeight(live, 50)
    const metrics = await metricsOf(live.base)
    assert.ok(Number(/^lyra_live_events_outside_blocks_total (\d+)$/m.exec(metrics)![1]) > 1_600)
    await stop(live)
    const plain = kind.create(t)
    await tryIngest(plain, BYTES)
    await assertEqualStores(store, plain)
  })
}

test('lyra generate restarts and upgrades the core of generated blocks, too', async (t) => {
  const folder = temporaryFolder(t)
  const live = await startLive(t, ANY_STORE_KIND[0]!.create(t), join(folder, 'log'))
  const args = `--blocks 4 --restart-every 3 --upgrade 2 --dial 127.0.0.1:${live.corePort}`
  const { stderr } = await runWell(t, `generate ${args}`)
  assert.match(stderr, /^restarted after block 2 from the snapshot of block 2: /m)
  assert.match(stderr, /^restarted after block 3 from the snapshot of block 2: 1 block sent again$/m)
  await untilHeight(live, 4)
})

test('Ctrl-C ends a core that waits for its upgrade', async (t) => {
  const receiver = await startReceiver(t)
  const sender = startLyra(t, `generate --blocks 9 --upgrade 1 --dial 127.0.0.1:${receiver.port}`)
  await until(() => receiver.connections[0]?.messages.at(-1)?.includes('2-1') === true, 'announcement')
  sender.child.kill('SIGINT')
  const { code, stderr } = await sender.outcome
  assert.deepEqual([code, stderr], [130, ''])
})

describe('lyra generate refuses restarts', () => {
  const DIAL = '--dial 127.0.0.1:9'
  for (const [args, message] of [
    ['--blocks 5 --restart-every 2', '--restart-every restarts the connection of a core: it needs --dial'],
    ['--blocks 5 --upgrade 2', "--upgrade waits for a service's answer: it needs --dial"],
    [`--blocks 5 --restart-every 0 ${DIAL}`, '--restart-every must be from 1 to 1000000000, not 0'],
    [`--blocks 5 --restart-every 1.5 ${DIAL}`, '--restart-every must be a whole number, not 1.5'],
    [`--blocks 5 --upgrade x ${DIAL}`, 'It must be a number.'],
    [`--blocks 5 --upgrade 5 ${DIAL}`, '--upgrade must be from 1 to 4, not 5'],
    [`--blocks 5 --start 11 --upgrade 10 ${DIAL}`, '--upgrade must be from 11 to 14, not 10'],
    [`--blocks 1 --upgrade 1 ${DIAL}`, '--upgrade needs a block after it: give --blocks 2 or more'],
  ] as const) {
    test(`with ${args}`, (t) => assertFails(t, `generate ${args}`, message, 2))
  }
})
