import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { readCoverage } from '#core/store/queries/coverage'
import { assertSays } from '../fixtures/assert-says.ts'
import { frame } from '../fixtures/events/event-stream.ts'
import { bufferPath } from '../fixtures/logs/old-buffer.ts'
import { createRandom } from '../fixtures/random.ts'
import { send } from '../fixtures/requests/http.ts'
import { scaled } from '../fixtures/sampling.ts'
import { dial } from '../fixtures/services/core.ts'
import { startFollowing, startReceive } from '../fixtures/services/follow-programs.ts'
import {
  blocksOf,
  heightOf,
  kill,
  stop,
  untilHeight,
  untilNotReady,
  untilReady,
} from '../fixtures/services/live.ts'
import { asNobody } from '../fixtures/services/nobody.ts'
import { freePort } from '../fixtures/services/port.ts'
import { addressOf, end, runLyra, runWell, startLyra } from '../fixtures/services/program.ts'
import { startReceiver } from '../fixtures/services/receiver.ts'
import { storeOf } from '../fixtures/services/service.ts'
import { startCore } from '../fixtures/services/steady-core.ts'
import { SAMPLE } from '../fixtures/shared.ts'
import { assertEqualStores } from '../fixtures/stores/digest-store.ts'
import {
  ANY_STORE_KIND,
  describeOn,
  readFrom,
  STORE_KINDS,
  temporaryFolder,
} from '../fixtures/stores/stores.ts'
import { until } from '../fixtures/until.ts'

const blocks = await blocksOf(SAMPLE)

describeOn(STORE_KINDS, 'services that follow an event log', (kind) => {
  test('lose nothing of what a receiver gets, however often they are killed', async (t) => {
    const eventLog = join(temporaryFolder(t), 'log')
    const store = kind.create(t)
    const receiver = await startReceive(t, eventLog)
    const kills = scaled(3, 50)
    const random = createRandom(4)
    const core = startCore(t, receiver.corePort, blocks, 40)
    for (let round = 0; round < kills; round++) {
      const service = await startFollowing(t, store, [eventLog])
      await sleep(300 + random.integer(700))
      await kill(service)
    }
    const service = await startFollowing(t, store, [eventLog])
    await until(() => core.sent === blocks.flat().length, 'the core', 60_000)
    await untilHeight(service, blocks.length)
    await stop(service)
    await end(receiver.program)
    assert.deepEqual((await readFrom(store, readCoverage))!.gaps, [])
    await assertEqualStores(store, await storeOf(t, kind, SAMPLE))
  })
})

describeOn(ANY_STORE_KIND, 'an event log', (kind) => {
  test('gets the events that a version before 0.3 has left beside it', async (t) => {
    const folder = temporaryFolder(t)
    const [eventLog, buffer] = [join(folder, 'event-log'), join(folder, 'buffer')]
    mkdirSync(buffer)
    writeFileSync(bufferPath(buffer, 1), frame(blocks.slice(0, 5).flat(), 0n))
    const receiver = await startReceive(t, eventLog)
    const service = await startFollowing(t, kind.create(t), [eventLog])
    await untilHeight(service, 5)
    assert.deepEqual(readdirSync(buffer), [])
    const core = await dial(receiver.corePort)
    await core.send(blocks.slice(3, 8))
    await untilHeight(service, 8)
  })

  test('gives several stores its blocks, and keeps those that one of them does not have', async (t) => {
    const eventLog = join(temporaryFolder(t), 'log')
    const [one, two] = [kind.create(t), kind.create(t)]
    const receiver = await startReceive(t, eventLog, ['--event-log-keep', '16MiB'])
    const core = await dial(receiver.corePort)
    await core.send(blocks.slice(0, 300))
    const first = await startFollowing(t, one, [eventLog])
    const second = await startFollowing(t, two, [eventLog])
    for (const service of [first, second]) await untilHeight(service, 300)
    await stop(second)
    await core.send(blocks.slice(300))
    await untilHeight(first, blocks.length)
    const late = await startFollowing(t, two, [eventLog])
    await untilHeight(late, blocks.length)
    await untilReady(late)
    const readers = readdirSync(join(eventLog, 'readers'))
    assert.equal(readers.filter((name) => /^store-[0-9a-f]{12}\.json$/.test(name)).length, 2)
    const status = await runWell(t, `status --event-log ${eventLog}`)
    assertSays(status.stdout, `whole blocks  1 to ${blocks.length}\n`)
    assert.match(status.stdout, /^receiver +core connected$/m)
    assert.match(
      status.stdout,
      new RegExp(`^reader +store-\\w+, a store, has blocks up to ${blocks.length}, 0 s behind`, 'm'),
    )
    const [name] = readers
    const released = await runLyra(t, `log release ${name!.replace('.json', '')} --event-log ${eventLog}`)
    assert.equal(released.code, 0, released.stderr)
    const unknown = await runLyra(t, `log release nobody --event-log ${eventLog}`)
    assert.equal(unknown.code, 2)
    assert.match(unknown.stderr, /has no reader "nobody"; it has store-[0-9a-f]{12}/)
    for (const service of [first, late]) await stop(service)
    await end(receiver.program)
    for (const store of [one, two]) await assertEqualStores(store, await storeOf(t, kind, SAMPLE))
  })

  test('of a receiver that has ended is named by /ready, and goes on with it', async (t) => {
    const eventLog = join(temporaryFolder(t), 'log')
    const service = await startFollowing(t, kind.create(t), [eventLog])
    await untilNotReady(service, 'log 1 has no receiver yet')
    const port = await freePort()
    const receiver = await startReceive(t, eventLog, ['--listen', `127.0.0.1:${port}`])
    const readers = join(eventLog, 'readers')
    await until(
      () => readdirSync(readers).some((name) => name.endsWith('.json')),
      'the store among the readers',
    )
    await (await dial(port)).send(blocks.slice(0, 50))
    await untilHeight(service, 50)
    await untilReady(service)
    receiver.program.child.kill('SIGKILL')
    await receiver.program.outcome
    await untilNotReady(service, 'the receiver of log 1 has been silent for')
    const again = await startReceive(t, eventLog, ['--listen', `127.0.0.1:${port}`])
    await (await dial(port)).send(blocks.slice(50, 100))
    await untilHeight(service, 100)
    await untilReady(service)
    await stop(service)
    await end(again.program)
  })

  test('of one core beside another one: what one of them has, a store gets', async (t) => {
    const logs = [join(temporaryFolder(t), 'a'), join(temporaryFolder(t), 'b')]
    const store = kind.create(t)
    const receivers = [await startReceive(t, logs[0]!), await startReceive(t, logs[1]!)]
    const cores = await Promise.all(receivers.map(({ corePort }) => dial(corePort)))
    const service = await startFollowing(t, store, logs)
    // Each lacks what its receiver would lose in a kill.
    await cores[0]!.send([...blocks.slice(0, 100), ...blocks.slice(120, 300)])
    await cores[1]!.send([...blocks.slice(0, 200), ...blocks.slice(210, 300)])
    await untilHeight(service, 300)
    await untilReady(service)
    await cores[1]!.send(blocks.slice(300))
    await untilHeight(service, blocks.length, 40_000)
    await stop(service)
    for (const { program } of receivers) await end(program)
    await assertEqualStores(store, await storeOf(t, kind, SAMPLE))
  })
})

describe('a receiver that runs alone', () => {
  test('gives the files of its log, earlier ones too, the mode that it was told, whatever the umask', async (t) => {
    const eventLog = join(temporaryFolder(t), 'log')
    const write = async (from: number, args: string[]) => {
      const receiver = await startReceive(t, eventLog, args)
      const core = await dial(receiver.corePort)
      await core.send(blocks.slice(from, from + 10))
      const committed = new RegExp(`^whole blocks .*\\b${from + 10}$`, 'm')
      await until(
        async () => committed.test((await runWell(t, `status --event-log ${eventLog}`)).stdout),
        'the blocks',
      )
      await end(receiver.program)
    }
    const modes = () => {
      const names = readdirSync(eventLog).filter((name) => name !== '.lock' && name !== 'readers')
      return new Set(names.map((name) => statSync(join(eventLog, name)).mode & 0o777))
    }
    const umask = process.umask(0o077)
    t.after(() => process.umask(umask))
    await write(0, [])
    assert.deepEqual(modes(), new Set([0o600]))
    // Of another range: the first segment is sealed.
    await write(20, ['--event-log-mode', '640'])
    assert.deepEqual(modes(), new Set([0o640]))
    assert.equal(statSync(eventLog).mode & 0o777, 0o750)
    assert.equal(statSync(join(eventLog, 'readers')).mode & 0o777, 0o700)
    const wrong = await runLyra(t, 'receive --event-log-mode 666')
    assert.deepEqual([wrong.code, /must be 600, 640 or 644/.test(wrong.stderr)], [2, true])
  })

  test('has figures, and refuses another chain and a second receiver', async (t) => {
    const eventLog = join(temporaryFolder(t), 'log')
    const port = await freePort()
    const receiver = await startReceive(t, eventLog, ['--metrics', `127.0.0.1:${port}`])
    await (await dial(receiver.corePort)).send(blocks.slice(0, 20))
    const base = `http://127.0.0.1:${port}`
    const metrics = async () => (await send(base, '/metrics')).text
    await until(async () => /^lyra_live_events_received_total [1-9]/m.test(await metrics()), 'the events')
    assert.match(await metrics(), /^lyra_event_log_first_height 1$/m)
    assert.equal((await send(base, '/')).status, 404)
    const second = await runLyra(t, `receive --listen 127.0.0.1:0 --event-log ${eventLog}`)
    assert.equal(second.code, 1)
    assert.match(second.stderr, /another process receives into this event log/)
    await end(receiver.program)
    const other = await runLyra(t, `receive --listen 127.0.0.1:0 --event-log ${eventLog} --chain other`)
    assert.match(
      other.stderr,
      /is of chain "core-scenarios", but --chain is "other": name another --event-log/,
    )
  })

  test('ends if its log is deleted, and if its figures cannot be served: another start receives again', async (t) => {
    const eventLog = join(temporaryFolder(t), 'log')
    const first = await startReceive(t, eventLog)
    rmSync(eventLog, { recursive: true })
    await (await dial(first.corePort)).send(blocks.slice(0, 20))
    const { code, stderr } = await first.program.outcome
    assert.equal(code, 1)
    assertSays(stderr, '\nlyra: the event log cannot be written any more: ENOENT')
    const taken = await startReceiver(t)
    const args = `receive --listen 127.0.0.1:0 --event-log ${eventLog} --metrics 127.0.0.1:${taken.port}`
    const { code: failed, stderr: why } = await startLyra(t, args).outcome
    assert.equal(failed, 1)
    assertSays(why, `${taken.port}...--metrics`)
    const last = await startReceive(t, eventLog)
    await (await dial(last.corePort)).send(blocks.slice(0, 20))
    await end(last.program)
    assert.deepEqual(
      (await runWell(t, `status --event-log ${eventLog}`)).stdout.match(/1 to \d+/)?.[0],
      '1 to 20',
    )
  })

  test('that its follower may not read is named by /ready until it may, and said if it may only read it', async (t) => {
    const folder = temporaryFolder(t)
    const nobody = asNobody(t, folder)
    if (nobody === null) return
    const eventLog = join(folder, 'log')
    const receiver = await startReceive(t, eventLog)
    const core = await dial(receiver.corePort)
    await core.send(blocks.slice(0, 20))
    chmodSync(eventLog, 0o000)
    const args = `serve --port 0 --store ${join(folder, 'lyra.db')} --max-behind 0 --follow ${eventLog}`
    const program = startLyra(t, args, nobody)
    const service = { program, base: await addressOf(program), corePort: 0 }
    await untilNotReady(service, 'log 1 cannot be read: EACCES')
    if (process.getuid?.() === 0) {
      const readable = () => {
        for (const name of readdirSync(eventLog)) chmodSync(join(eventLog, name), 0o755)
        chmodSync(eventLog, 0o755)
      }
      await until(async () => {
        readable()
        return (await heightOf(service)) >= 19
      }, 'the blocks')
      await program.printed('may delete blocks that the store needs: EACCES')
    }
    await stop(service)
    chmodSync(eventLog, 0o755)
    await end(receiver.program)
  })

  test('that a forwarder may not read is named in one line, and forwarded once it may', async (t) => {
    const folder = temporaryFolder(t)
    const nobody = asNobody(t, folder)
    if (nobody === null) return
    const eventLog = join(folder, 'log')
    const receiver = await startReceive(t, eventLog)
    await (await dial(receiver.corePort)).send(blocks.slice(0, 20))
    const isDone = () =>
      runWell(t, `status --event-log ${eventLog}`).then(({ stdout }) => /1 to 20$/m.test(stdout))
    await until(isDone, 'the blocks')
    const target = await startReceiver(t)
    const setModes = (ofFolder: number, ofFiles: number) => {
      for (const name of readdirSync(eventLog)) chmodSync(join(eventLog, name), ofFiles)
      chmodSync(eventLog, ofFolder)
    }
    const root = process.getuid?.() === 0
    for (const [mode, fault] of [
      [0o000, 'EACCES'],
      [0o755, 'its head.json may not be read'],
    ] as const) {
      setModes(mode, root ? 0o700 : 0o000)
      const forward = startLyra(t, `forward 127.0.0.1:${target.port} --follow ${eventLog}`, nobody)
      await forward.printed(
        `${eventLog}: the event log cannot be read (${fault}): let the user of this process`,
      )
      await sleep(2_500)
      setModes(0o755, 0o755)
      await until(() => target.connections.some(({ messages }) => messages.length > 0), 'the blocks')
      await end(forward)
      const { stderr } = await forward.outcome
      assert.equal(stderr.match(/cannot be read/g)?.length, 1, stderr)
      target.connections.length = 0
    }
    await end(receiver.program)
  })

  test('of a later version ends a forwarder with one line', async (t) => {
    const eventLog = join(temporaryFolder(t), 'log')
    await end((await startReceive(t, eventLog)).program)
    const target = await startReceiver(t)
    const running = startLyra(t, `forward 127.0.0.1:${target.port} --follow ${eventLog}`)
    await until(() => target.connections.length === 1, 'the forwarder')
    writeFileSync(join(eventLog, 'head.json'), '{"version":2}')
    const again = () => startLyra(t, `forward 127.0.0.1:${target.port} --follow ${eventLog}`)
    for (const { outcome } of [running, again()]) {
      const { code, stderr } = await outcome
      assert.equal(code, 1)
      assert.match(stderr, /^lyra: .*: the event log has version 2, this program reads version 1.*\n$/m)
      assert.doesNotMatch(stderr, /^ +at /m)
    }
  })

  test('is forwarded by a process of its own, which goes on where it was', async (t) => {
    const eventLog = join(temporaryFolder(t), 'log')
    const receiver = await startReceive(t, eventLog)
    const core = await dial(receiver.corePort)
    const target = await startReceiver(t)
    const start = () => startLyra(t, `forward 127.0.0.1:${target.port} --follow ${eventLog}`)
    const received = () => target.connections.flatMap(({ messages }) => messages)
    const first = start()
    await core.send(blocks.slice(0, 100))
    await until(() => received().length === blocks.slice(0, 100).flat().length, 'the first blocks')
    await end(first)
    await core.send(blocks.slice(100, 200))
    const second = start()
    await until(() => received().length === blocks.slice(0, 200).flat().length, 'the others')
    assert.ok(Buffer.concat(received()).equals(Buffer.concat(blocks.slice(0, 200).flat())))
    await end(second)
    const [name] = readdirSync(join(eventLog, 'readers'))
    const file = JSON.parse(readFileSync(join(eventLog, 'readers', name!), 'utf8'))
    assert.deepEqual([name, file.height, file.clean], [`forward-127.0.0.1-${target.port}.json`, '200', true])
    await end(receiver.program)
  })
})
