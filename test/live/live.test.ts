import assert from 'node:assert/strict'
import { readdirSync, readFileSync, renameSync, statSync, truncateSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { readCoverage } from '#core/store/queries/coverage'
import { assertSays } from '../fixtures/assert-says.ts'
import { frame } from '../fixtures/events/event-stream.ts'
import { createRandom } from '../fixtures/random.ts'
import { metricsOf } from '../fixtures/requests/http.ts'
import { runsOf } from '../fixtures/sampling.ts'
import { dial, HANDSHAKE } from '../fixtures/services/core.ts'
import {
  blocksOf,
  bytesIn,
  heightOf,
  kill,
  liveArgs,
  readyOf,
  startLive,
  startWithCore,
  stop,
  untilHeight,
  untilNotReady,
  untilReady,
} from '../fixtures/services/live.ts'
import { openServer } from '../fixtures/services/port.ts'
import { corePortOf, runLyra, runWell, startLyra } from '../fixtures/services/program.ts'
import { storeOf } from '../fixtures/services/service.ts'
import { SAMPLE } from '../fixtures/shared.ts'
import { assertEqualStores } from '../fixtures/stores/digest-store.ts'
import {
  ANY_STORE_KIND,
  describeOn,
  fileWith,
  readFrom,
  STORE_KINDS,
  temporaryFolder,
} from '../fixtures/stores/stores.ts'
import { until } from '../fixtures/until.ts'

/** The blocks of the sample, each with its events as the core sends them. */
const blocks = await blocksOf(SAMPLE)

const last = blocks.length

/** Its place among the fields that follow a thread's name in `/proc/PID/task/TID/stat` (proc_pid_stat(5)). */
const NICENESS = 16

/** Threads that give way to others: one for long pages, one for streams and exports. */
const LONG_READERS = 2

describeOn(STORE_KINDS, 'a core that connects', (kind) => {
  test('results in the same tables as a plain ingest, and in event files if the log keeps them', async (t) => {
    const store = kind.create(t)
    const eventLog = temporaryFolder(t)
    const service = await startLive(t, store, eventLog, ['--event-log-keep', 'all'])
    const empty = (await readyOf(service)).text
    assertSays(empty, 'empty store')
    assert.match(empty, /"store":"(lyra\.db|postgres:\/\/\/\w+\?schema=test_\w+)"/)
    const core = await dial(service.corePort)
    await core.send(blocks)
    await untilHeight(service, last)
    await untilReady(service)
    const metrics = await metricsOf(service.base)
    assertSays(metrics, 'lyra_live_core_connected 1')
    const isCommitted = async () => /lyra_live_buffer_bytes 0$/m.test(await metricsOf(service.base))
    await until(isCommitted, 'no uncommitted bytes')
    await core.close()
    await stop(service)
    await assertEqualStores(store, await storeOf(t, kind, SAMPLE))
    // The segment that was written to last is an event file, too.
    for (const name of readdirSync(eventLog).filter((name) => name.endsWith('.open')))
      renameSync(join(eventLog, name), join(eventLog, name.slice(0, -'.open'.length)))
    await assertEqualStores(await storeOf(t, kind, eventLog), store)
  })

  test('after a kill at any moment no visible and no repeated block is missing', async (t) => {
    const random = createRandom(7)
    const store = kind.create(t)
    const eventLog = temporaryFolder(t)
    const kills = runsOf('process', kind)
    let from = 0
    for (let round = 0; round < kills; round++) {
      const { service, core } = await startWithCore(t, store, eventLog)
      const to = Math.min(last, from + 1 + random.integer(Math.ceil((2 * last) / kills)))
      if (round % 2 === 0) {
        // Wait until a block is visible: from then on it and all before it must never be needed again.
        await core.send(blocks.slice(from, to))
        // The last block of the input is complete; only block 1 waits for block 2.
        if (to > 1) {
          await untilHeight(service, to)
          from = to
        }
        await core.send(blocks.slice(to, Math.min(last, to + 5)).flat())
      } else {
        // Killed in the middle: the core repeats everything after the last visible block.
        void core.send(blocks.slice(from, to)).catch(() => {})
        await sleep(random.integer(60))
      }
      await kill(service)
      core.socket.destroy()
      if (round === kills - 1 || round % 3 === 2) cutLastFile(eventLog, random.integer)
      if (from === last) from = 0
    }
    const { service, core } = await startWithCore(t, store, eventLog)
    await core.send(blocks)
    await untilHeight(service, last)
    await core.close()
    await stop(service)
    await assertEqualStores(store, await storeOf(t, kind, SAMPLE))
  })
})

describeOn(ANY_STORE_KIND, 'missing events of a core', (kind) => {
  test('are left out if an operator accepts that, up to the next gap, and come from files, also a part of them', async (t) => {
    const store = kind.create(t)
    const accept = (range: string) => runLyra(t, `gap accept ${range} --store ${store}`)
    const { service, core } = await startWithCore(t, store)
    await core.send([...blocks.slice(0, 100), ...blocks.slice(110, 200), ...blocks.slice(210, 220)])
    await untilNotReady(service, 'blocks 101 to 110 missing...lyra gap accept 101 110')

    const stored = await accept('95 110')
    assert.deepEqual([stored.code, stored.stdout], [1, ''])
    assertSays(stored.stderr, 'contains blocks 95 to 100; name only blocks that are missing')
    for (const wrong of ['110 101', '0 101']) assert.equal((await accept(wrong)).code, 2)
    const { stdout } = await accept('110 110')
    assertSays(stdout, '\nIt needs blocks 101 to 109 before that: accept these, too')
    assert.doesNotMatch((await accept('101 109')).stdout, /It needs/)

    await untilNotReady(service, 'blocks 201 to 210 missing...lyra gap accept 201 210')
    assert.equal(await heightOf(service), 200)
    assert.match(await metricsOf(service.base), /^lyra_missing_blocks 10$/m)
    assert.equal((await accept('201 300')).code, 0)
    await core.send([...blocks.slice(220, 310), ...blocks.slice(320, 330)])
    await untilNotReady(service, 'blocks 311 to 320 missing')
    assert.ok((await metricsOf(service.base)).includes('lyra_live_stopped 1'))
    const { gaps } = (await readFrom(store, readCoverage))!
    const timeOf = (second: number) => 1_696_500_000_000_000_000n + BigInt(second) * 1_000_000_000n
    assert.deepEqual(gaps, [
      { from: 101n, to: 110n, kind: 'missing', start: timeOf(99), end: timeOf(110) },
      { from: 201n, to: 210n, kind: 'missing', start: timeOf(199), end: timeOf(210) },
    ])
    assertSays((await accept('205 211')).stderr, 'contains block 211;')
    const ingest = (upTo: number) =>
      runWell(t, `ingest --store ${store} ${fileWith(t, frame(blocks.slice(0, upTo).flat()))}`)
    await ingest(315)
    await untilNotReady(service, 'blocks 316 to 320 missing...lyra gap accept 316 320')
    await ingest(320)
    await core.send(blocks.slice(330))
    await untilHeight(service, last)
    await untilReady(service)
    await stop(service)
    await runWell(t, `check --store ${store} ${SAMPLE}`)
  })

  test('come from files that go beyond them: live ingestion waits until these are ingested', async (t) => {
    const store = kind.create(t)
    const { service, core } = await startWithCore(t, store)
    await core.send([...blocks.slice(0, 100), ...blocks.slice(110, 120)])
    await untilNotReady(service, 'blocks 101 to 110 missing')
    const ingestion = startLyra(t, `ingest --store ${store} -`, { stdio: ['pipe', 'pipe', 'pipe'] })
    const [start, rest] = [blocks.slice(0, 200).flat(), blocks.slice(200, 300).flat()]
    const write = (events: Buffer[], before: number) =>
      ingestion.child.stdin!.write(frame(events, BigInt(1 + before)))
    write(start, 0)
    // A batch is committed with the first event after its time.
    let written = 0
    await until(async () => {
      write(rest.slice(written, written + 1), start.length + written)
      written++
      return service.program.output.stderr.includes('another writer is active; standing by')
    }, 'a standby')
    write(rest.slice(written), start.length + written)
    ingestion.child.stdin!.end()
    const { code, stderr } = await ingestion.outcome
    assert.equal(code, 0, stderr)
    await core.send(blocks.slice(120))
    await untilHeight(service, last)
    await untilReady(service)
    await stop(service)
    await assertEqualStores(store, await storeOf(t, kind, SAMPLE))
  })

  test('of a block stop the ingestion before it, until the core restarts and sends them', async (t) => {
    const [store, eventLog] = [kind.create(t), temporaryFolder(t)]
    const { service, core } = await startWithCore(t, store, eventLog)
    const block = blocks[49]!
    await core.send([...blocks.slice(0, 49).flat(), ...block.slice(0, 2), ...block.slice(3)])
    await core.send(blocks.slice(50, 60))
    await untilNotReady(service, 'event 3 of block 50 missing')
    assert.equal(await heightOf(service), 49)
    await core.close()
    const restarted = await dial(service.corePort)
    await restarted.send(blocks.slice(40).flat())
    await untilHeight(service, last)
    await untilReady(service)
    await stop(service)
    await assertEqualStores(store, await storeOf(t, kind, SAMPLE))
  })
})

for (const kind of ANY_STORE_KIND) {
  // On a busy machine, a thread of lower priority keeps locks of Node from the one that receives events, and a kill loses more.
  test(`nothing that ingests or forwards has a lower priority (${kind.name})`, {
    skip: process.platform !== 'linux',
  }, async (t) => {
    const forward = ['--forward', '127.0.0.1:9']
    const { service, core } = await startWithCore(t, kind.create(t), temporaryFolder(t), forward)
    await core.send(blocks)
    await untilHeight(service, last)
    await core.close()
    const folder = `/proc/${service.program.child.pid}/task`
    const priorities = readdirSync(folder).map((thread) => {
      const [, fields] = readFileSync(join(folder, thread, 'stat'), 'latin1').split(') ')
      return Number(fields!.split(' ')[NICENESS])
    })
    const lower = priorities.filter((priority) => priority > priorities[0]!)
    assert.ok(lower.length <= LONG_READERS, `${lower.length} of ${priorities.length} threads`)
    await stop(service)
  })
}

test('a core can connect, and its events are in the log, while the database does not answer', async (t) => {
  const silent = createServer((socket) => socket.on('error', () => {}).resume())
  const store = `postgres://lyra@${await openServer(t, silent)}/markets`
  const eventLog = temporaryFolder(t)
  const program = startLyra(t, liveArgs(store, eventLog))
  const core = await dial(await corePortOf(program))
  assert.doesNotMatch(program.output.stderr, /serving|connection/)
  const sent = blocks.slice(0, 3).flat()
  await core.send(sent)
  await until(() => bytesIn(eventLog) > Buffer.concat(sent).length, 'the event log')
  assert.doesNotMatch(program.output.stderr, /serving/)
  core.socket.destroy()
})

/** Truncates the last segment of a log anywhere: the core repeats uncommitted blocks. */
function cutLastFile(eventLog: string, below: (limit: number) => number): void {
  const name = readdirSync(eventLog)
    .filter((name) => name.endsWith('.open'))
    .sort()
    .at(-1)
  if (name === undefined) return
  const path = join(eventLog, name)
  truncateSync(path, below(statSync(path).size + 1))
}

describe('a faulty peer', () => {
  const stranger = { reason: 'not the handshake', fault: 'broken handshake' }
  /** Peers that never complete the handshake are no core: they do not affect readiness. */
  const peers = [
    { what: 'another protocol', sends: '0053500000200000', ...stranger },
    {
      what: 'no scalability protocol',
      sends: Buffer.from('GET / HTTP/1.1\r\n\r\n').toString('hex'),
      ...stranger,
    },
    {
      what: 'a message of 4 GB',
      sends: `${HANDSHAKE.toString('hex')}0000000100000000`,
      reason: 'a message of 4294967296 bytes',
      fault: 'message too large',
    },
    {
      what: 'garbage',
      sends: `${HANDSHAKE.toString('hex')}0000000000000003ffff01`,
      reason: 'not an event',
      fault: 'refused message',
    },
  ]
  test('is refused, and reported in metrics and log, and in readiness if it is a core', async (t) => {
    const service = await startLive(t, await storeOf(t, STORE_KINDS[0]!, SAMPLE), temporaryFolder(t))
    const counts = new Map<string, number>()
    for (const { what, sends, reason, fault } of peers) {
      const socket = connect(service.corePort, '127.0.0.1').on('error', () => {})
      socket.write(Buffer.from(sends, 'hex'))
      await new Promise((resolve) => socket.resume().once('close', resolve))
      if (fault !== stranger.fault) await untilNotReady(service, reason)
      else await untilReady(service)
      await service.program.printed(reason)
      const count = (counts.get(fault) ?? 0) + 1
      counts.set(fault, count)
      const counted = new RegExp(`lyra_live_connection_faults\\{reason="${fault}"\\} ${count}`)
      await until(async () => counted.test(await metricsOf(service.base)), `the metric of ${what}`)
      // A valid core is still accepted.
      const core = await dial(service.corePort)
      await core.send(blocks[0]!)
      await sleep(50)
      assert.equal(core.socket.destroyed, false, what)
      await core.close()
    }
  })
})
