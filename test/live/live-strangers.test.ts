import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdirSync, statSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { EVENT_KIND } from '#core/events/bus-event'
import { MAX_BLOCK_BYTES } from '#core/log/event-check'
import { createAllowList } from '#service/live/receive/allow-list'
import { listenPair } from '#service/live/receive/pair-socket'
import { assertSays } from '../fixtures/assert-says.ts'
import {
  busEvent,
  type Content,
  dataPoint,
  eventsOf,
  frame,
  message,
} from '../fixtures/events/event-stream.ts'
import { metricsOf } from '../fixtures/requests/http.ts'
import { dial, HANDSHAKE } from '../fixtures/services/core.ts'
import {
  blocksOf,
  type LiveService,
  liveArgs,
  readyOf,
  startLive,
  stop,
  untilHeight,
  untilNotReady,
  untilReady,
} from '../fixtures/services/live.ts'
import { runLyra, runWell } from '../fixtures/services/program.ts'
import { storeOfBytes } from '../fixtures/services/service.ts'
import { SAMPLE } from '../fixtures/shared.ts'
import { assertEqualStores } from '../fixtures/stores/digest-store.ts'
import { ANY_STORE_KIND, describeOn, STORE_KINDS, temporaryFolder } from '../fixtures/stores/stores.ts'
import { until } from '../fixtures/until.ts'

const blocks = (await blocksOf(SAMPLE)).slice(0, 200)
const last = blocks.length
const CHAIN = 'core-scenarios'

const replaced = (event: Buffer, from: string, to: string) =>
  Buffer.from(event.toString('latin1').replace(from, to), 'latin1')

/** An incomplete block of some height. */
const begun = (height: number, chain: string, events: Content[] = []) =>
  eventsOf([{ height, chain, events, ends: false }])

const eventBytesIn = (eventLog: string) =>
  readdirSync(eventLog)
    .filter((name) => name.includes('.bevt'))
    .reduce((sum, name) => sum + (statSync(join(eventLog, name), { throwIfNoEntry: false })?.size ?? 0), 0)

/** Sends messages that are refused; resolves once the connection is closed. */
async function sendRefused(service: LiveService, messages: readonly Buffer[]): Promise<void> {
  const core = await dial(service.corePort)
  const closed = new Promise((resolve) => core.socket.resume().once('close', resolve))
  await core.send(messages).catch(() => {})
  await closed
}

/** Checks that ingestion continues: a core's blocks result in the same store as a plain ingest. */
async function assertGoesOn(t: TestContext, service: LiveService, store: string): Promise<void> {
  const core = await dial(service.corePort)
  await core.send(blocks)
  await untilHeight(service, last)
  await untilReady(service)
  await core.close()
  await stop(service)
  await assertEqualStores(store, await storeOfBytes(t, STORE_KINDS[0]!, frame(blocks.flat())))
}

/** The service is not ready after a refused message, until a later block than that before it is committed. */
async function untilReadyAfterARefusal(service: LiveService): Promise<void> {
  const core = await dial(service.corePort)
  await core.send(blocks.slice(0, 50))
  await untilHeight(service, 50)
  await core.close()
  await sendRefused(service, [...blocks[50]!.slice(0, 2), Buffer.from('no event')])
  await untilNotReady(service, 'not an event')
  const again = await dial(service.corePort)
  await again.send([...blocks.slice(40, 50).flat(), ...blocks[50]!.slice(0, -1)])
  await sleep(300)
  assertSays((await readyOf(service)).text, 'not an event')
  await again.send([blocks[50]!.at(-1)!, ...blocks[51]!])
  await untilHeight(service, 51)
  await untilReady(service)
  await again.close()
}

describeOn(ANY_STORE_KIND, 'a message that is none of the core', (kind) => {
  const second = blocks[2]!
  const bad: [what: string, messages: Buffer[], reason: string][] = [
    ['that is malformed', [second[0]!, Buffer.from([0xff, 0xff, 1])], 'not an event'],
    ['without a valid id', [second[0]!, replaced(second[1]!, '3-2', 'x-2')], 'its id is ...x-2'],
    ['without a chain', begun(7, ''), 'a chain id of'],
    [
      'of another chain',
      [second[0]!, replaced(second[1]!, CHAIN, 'core-elsewhere')],
      'chain ...core-elsewhere',
    ],
    ['of another version', [second[0]!, replaced(second[1]!, ' \x01*', ' \x02*')], 'version 2'],
  ]
  test('is refused before it is in the log, and makes the service not ready until a later block is committed', async (t) => {
    const store = kind.create(t)
    const eventLog = temporaryFolder(t)
    const service = await startLive(t, store, eventLog)
    for (const [what, messages, reason] of bad) {
      await t.test(what, async () => {
        await sendRefused(service, messages)
        await untilNotReady(service, reason)
      })
    }
    await stop(service)
    assert.equal(eventBytesIn(eventLog), 0)
    const again = await startLive(t, store, eventLog)
    // What is no whole block of another chain does not exclude the core from an empty log: an incomplete block, and an end
    // without a begin.
    for (const messages of [
      begun(7, 'evil'),
      [busEvent({ id: '7-1', kind: EVENT_KIND.endBlock, chain: 'evil' }, message({ 1: 7 }))],
    ]) {
      const stranger = await dial(again.corePort)
      await stranger.send(messages)
      await stranger.close()
    }
    await untilReadyAfterARefusal(again)
    await assertGoesOn(t, again, store)
  })

  test('that cannot be decoded is kept, and its block is missing, until the core sends it again or that is accepted', async (t) => {
    const store = kind.create(t)
    const service = await startLive(t, store, temporaryFolder(t))
    const core = await dial(service.corePort)
    const bad: [what: string, body: Buffer, reason: string][] = [
      ['a malformed body', Buffer.from([0x0a, 0x7f]), 'longer than its message'],
      ['a body of 5 MB', Buffer.alloc(5_000_000), 'more than the 4194304 allowed'],
    ]
    let sent = 2
    for (const [what, body, reason] of bad) {
      const block = blocks[sent]!
      const event = busEvent({ id: `${sent + 1}-2`, kind: 160, chain: CHAIN }, body)
      const damaged = [block[0]!, event, ...block.slice(2)]
      await core.send([...blocks.slice(0, sent), damaged, ...blocks.slice(sent + 1, sent + 4)])
      await untilNotReady(service, `block ${sent + 1} missing`)
      await untilNotReady(service, reason)
      await untilHeight(service, sent)
      if (what === 'a malformed body') await core.send(blocks.slice(0, sent + 4))
      else await runWell(t, `gap accept ${sent + 1} ${sent + 1} --store ${store}`)
      await untilHeight(service, sent + 4)
      await untilReady(service)
      sent += 10
    }
    await core.close()
    await stop(service)
  })

  test('of another chain than --chain is refused by an empty store, and a block without an end is dropped at the limit, on disk too', async (t) => {
    const store = kind.create(t)
    const eventLog = temporaryFolder(t)
    const service = await startLive(t, store, eventLog, ['--chain', CHAIN])
    await sendRefused(service, begun(7, 'evil'))
    await untilNotReady(service, 'an event of chain ...evil...--chain is ...core-scenarios')
    const core = await dial(service.corePort)
    await core.send(blocks.slice(0, 3))
    await untilHeight(service, 3)
    await core.close()
    const large = { kind: 104, body: Buffer.alloc(16 * 1024 * 1024) }
    const events = Array.from({ length: MAX_BLOCK_BYTES / large.body.length + 1 }, () => large)
    await sendRefused(service, begun(4, CHAIN, events))
    await untilNotReady(service, 'more than 128 MiB without the end of a block')
    await until(() => eventBytesIn(eventLog) < 1_000_000, 'most bytes are deleted')
    await assertGoesOn(t, service, store)
    const refusal =
      /the event log is of chain "core-scenarios", but --chain is "other": name another --event-log/
    const { code, stderr } = await runLyra(t, [...liveArgs(store, eventLog), '--chain', 'other'])
    assert.equal(code, 1)
    assert.match(stderr, refusal)
  })
})

describe("the core's connection", () => {
  type Heard = { faults: string[]; messages: string[]; connected: number }

  async function listen(t: TestContext, silenceMs?: number, networks: string[] = []) {
    const heard: Heard = { faults: [], messages: [], connected: 0 }
    const socket = await listenPair(
      { host: '127.0.0.1', port: 0, allowed: createAllowList(networks), silenceMs: silenceMs ?? 10_000 },
      {
        onConnected: () => heard.connected++,
        onDisconnected: () => {},
        onMessage: (message) => heard.messages.push(message.toString()),
        onRead: () => {},
        onFault: (fault) => heard.faults.push(fault),
      },
    )
    t.after(() => socket.close())
    return { port: socket.port, socket, close: () => socket.close(), heard }
  }

  test('is not taken by clients that only connect, however many', async (t) => {
    const { port, heard } = await listen(t)
    const probes = Array.from({ length: 200 }, () => connect(port, '127.0.0.1').on('error', () => {}))
    t.after(() => probes.map((probe) => probe.destroy()))
    await Promise.all(probes.map((probe) => once(probe, 'connect')))
    const core = await dial(port)
    await core.send([Buffer.from('a')])
    await until(() => heard.messages.length === 1, 'a message')
    assert.equal(heard.connected, 1)
  })

  test('is read to its end at a stop, even if no part has been read before', async (t) => {
    const { port, heard, close } = await listen(t)
    const core = connect(port, '127.0.0.1')
    const message = Buffer.concat([HANDSHAKE, Buffer.from([0, 0, 0, 0, 0, 0, 0, 1]), Buffer.from('a')])
    core.write(message)
    core.resume()
    // The kernel connects and takes the bytes; the server has not run meanwhile.
    await new Promise((resolve) => core.once('connect', () => void close().then(resolve)))
    assert.deepEqual(heard.messages, ['a'])
  })

  test('is read on at a stop once a pause is over, as long as without one', async (t) => {
    const { port, socket, heard, close } = await listen(t)
    const core = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    core.write(HANDSHAKE)
    core.resume()
    await until(() => heard.connected === 1, 'the connection')
    socket.pause()
    const closed = close()
    await sleep(1_900)
    socket.resume()
    for (let sent = 0; sent < 10; sent++) {
      core.write(Buffer.concat([Buffer.from([0, 0, 0, 0, 0, 0, 0, 1]), Buffer.from('a')]))
      await sleep(50)
    }
    core.end()
    await closed
    assert.equal(heard.messages.length, 10)
  })

  test('is lost by a silent client when another one connects, but not by a sender', {
    timeout: 60_000,
  }, async (t) => {
    const { port, heard } = await listen(t, 300)
    const silent = await dial(port)
    await sleep(400)
    const core = await dial(port)
    await core.send([Buffer.from('a')])
    await until(() => heard.messages.length === 1, 'a message')
    assert.deepEqual(heard.faults, ['silent core'])
    await until(() => silent.socket.destroyed, 'the silent connection is closed')
    const sending = setInterval(() => void core.send([Buffer.from('b')]), 50)
    t.after(() => clearInterval(sending))
    await sleep(400)
    const late = connect(port, '127.0.0.1').on('error', () => {})
    late.resume()
    await once(late, 'close')
    assert.deepEqual(heard.faults, ['silent core', 'second core'])
    clearInterval(sending)
    await core.close()
  })

  test('is only for addresses of --listen-from', async (t) => {
    const { port, heard } = await listen(t, undefined, ['10.0.0.0/8', 'fd00::/8'])
    const stranger = connect(port, '127.0.0.1').on('error', () => {})
    stranger.resume()
    await once(stranger, 'close')
    assert.deepEqual(heard.faults, ['address not allowed'])
    const allows = createAllowList(['10.0.0.0/8', 'fd00::/8', '192.0.2.7'])
    const allowed = ['10.200.3.4', '::ffff:10.1.1.1', '192.0.2.7', 'fd12::1']
    assert.deepEqual([...allowed, '11.0.0.1', '192.0.2.8', 'fe80::1%eth0'].filter(allows), allowed)
    assert.ok(createAllowList([])('192.0.2.8'))
  })

  test('that many clients compete for causes a few log lines and no failure, and stops in time', {
    timeout: 60_000,
  }, async (t) => {
    const service = await startLive(t, STORE_KINDS[0]!.create(t), temporaryFolder(t))
    const core = await dial(service.corePort)
    await core.send(blocks.slice(0, 20))
    await untilHeight(service, 20)
    for (let round = 0; round < 20; round++) {
      const all = Array.from({ length: 25 }, () =>
        connect(service.corePort, '127.0.0.1').on('error', () => {}),
      )
      await Promise.all(all.map((socket) => once(socket.resume(), 'close')))
    }
    await untilReady(service)
    const counted = /lyra_live_connection_faults\{reason="second core"\} 500/
    await until(async () => counted.test(await metricsOf(service.base)), 'the metric')
    // A price that is slow to validate does not delay the stop.
    const price = `${'1'.repeat(1_000_000)}x`
    await core.send(begun(21, CHAIN, [dataPoint({ price })]))
    await sleep(100)
    const startedAt = performance.now()
    await stop(service)
    assert.ok(performance.now() - startedAt < 8_000)
    const lines = service.program.output.stderr.split('\n').filter((line) => line.includes('another core'))
    assert.equal(lines.length, 2, lines.join('\n'))
    assert.match(lines[1]!, /499 more connections closed in [\d a-z]+ for the same reason \(second core\)/)
  })
})
