import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { readCoverage } from '#core/store/queries/coverage'
import { frame, recordsOf } from '../fixtures/events/event-stream.ts'
import { createRandom } from '../fixtures/random.ts'
import { inTurns, scaled } from '../fixtures/sampling.ts'
import { blocksOf, kill, startLive, stop, untilHeight } from '../fixtures/services/live.ts'
import { freePort } from '../fixtures/services/port.ts'
import { storeOf } from '../fixtures/services/service.ts'
import { startCore } from '../fixtures/services/steady-core.ts'
import { SAMPLE } from '../fixtures/shared.ts'
import { assertEqualStores } from '../fixtures/stores/digest-store.ts'
import { fileWith, readFrom, STORE_KINDS, temporaryFolder } from '../fixtures/stores/stores.ts'
import { until } from '../fixtures/until.ts'

const blocks = await blocksOf(SAMPLE)
const events = blocks.flat()

const idOf = (event: Buffer) => /^\d+-\d+/.exec(event.toString('latin1', 2, 40))![0]

/** The id of the last event in a log; null if it is empty. */
function lastIn(eventLog: string): string | null {
  const name = readdirSync(eventLog)
    .filter((name) => name.includes('.bevt'))
    .sort()
    .at(-1)
  const last = name === undefined ? undefined : recordsOf(readFileSync(join(eventLog, name))).at(-1)
  return last === undefined ? null : `${last.height}-${last.index}`
}

const [kind] = STORE_KINDS

describe('a core that continues with its next event after a restart of Lyra', () => {
  const ends = [
    ['stopped', stop],
    ['killed', kill],
  ] as const
  for (const [turn, blocksPerSecond] of [30, 4].entries()) {
    for (const [how, end] of inTurns(turn, ends)) {
      test(`${how} within blocks at ${blocksPerSecond} a second loses only unreceived events`, async (t) => {
        const random = createRandom(blocksPerSecond)
        const store = kind!.create(t)
        const eventLog = temporaryFolder(t)
        const port = await freePort()
        const args = ['--listen', `127.0.0.1:${port}`, '--allow-gap']
        const core = startCore(t, port, blocks, blocksPerSecond)
        /** Heights of the events that killed processes had not read. */
        const unread = new Set<bigint>()
        const most = scaled(1, 100)
        let rounds = 0
        const lastLogged = () => events.findIndex((event) => idOf(event) === lastIn(eventLog))
        // The core has events for the last service, too.
        for (; rounds < most && core.sent < events.length / 2; rounds++) {
          const service = await startLive(t, store, eventLog, args)
          const from = core.sent
          // On a busy machine the first events can arrive later than this process would be ended.
          await until(() => (how === 'killed' ? lastLogged() >= from : core.sent > from), 'the core')
          // Events are spread evenly over time, so that nearly every moment is within a block.
          await sleep(((200 + random.integer(100)) * 10) / blocksPerSecond)
          await end(service)
          if (how === 'stopped') continue
          for (const event of events.slice(lastLogged() + 1, core.sent))
            unread.add(BigInt(idOf(event).split('-')[0]!))
        }
        const service = await startLive(t, store, eventLog, args)
        const from = core.sent
        await until(() => core.sent >= from + 60, 'the core')
        core.stop()
        const next = blocks.findIndex((_, index) => blocks.slice(0, index + 1).flat().length > core.sent)
        await untilHeight(service, next)
        await stop(service)
        const { gaps } = (await readFrom(store, readCoverage))!
        const lost = gaps.reduce((sum, { from, to }) => sum + Number(to - from) + 1, 0)
        t.diagnostic(`${lost} blocks lost in ${rounds} restarts`)
        for (const { from, to } of gaps) {
          for (let height = from; height <= to; height++) assert.ok(unread.has(height), `block ${height}`)
        }
        if (how === 'killed') return
        const file = fileWith(t, frame(events.slice(0, core.sent)), 'sent.evts')
        await assertEqualStores(store, await storeOf(t, kind!, file))
      })
    }
  }
})
