import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { acceptGap } from '#core/store/admin/accept-gap'
import { StoreError } from '#core/store/errors'
import { readCoverage } from '#core/store/queries/coverage'
import type { StoreAdmin, WriterOptions } from '#core/store/store'
import { eventsOf, frame, markedBlocks } from '../fixtures/events/event-stream.ts'
import { follow } from '../fixtures/logs/follow-logs.ts'
import { writeBlocks } from '../fixtures/logs/written-log.ts'
import { openStore, readFrom, temporaryFolder } from '../fixtures/stores/stores.ts'
import { until } from '../fixtures/until.ts'

/** A store whose first writer that commits durably cannot be closed. */
const failsToClose = (store: StoreAdmin): StoreAdmin => {
  let hasFailed = false
  const openWriter = async (options?: WriterOptions) => {
    const writer = await store.openWriter(options)
    if (hasFailed || options?.durable !== true) return writer
    hasFailed = true
    const close = async () => {
      await writer.close()
      throw new StoreError('the disk is full')
    }
    return new Proxy(writer, {
      get(target, name) {
        const value = name === 'close' ? close : Reflect.get(target, name)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
  }
  return new Proxy(store, {
    get(target, name) {
      const value = name === 'openWriter' ? openWriter : Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

describe('The committer of a log', () => {
  test('says that the store could not be closed, and goes on', async (t) => {
    const log = join(temporaryFolder(t), 'log')
    await writeBlocks(log, [1, 5])
    const service = await follow(t, [log], null, failsToClose)
    await until(async () => (await service.height()) === 5, 'the blocks')
    await until(() => service.state().failures.includes('the disk is full'), 'the fault')
    await writeBlocks(log, [6, 7])
    await until(async () => (await service.height()) === 7, 'more blocks')
    await until(() => service.state().failures.length === 0, 'the end of the fault')
  })

  for (const [what, damage] of [
    ['whose first block cannot be read', (events: Buffer[]) => events[0]!.fill(0xff, 0, 8)],
    ['whose first block lacks an event', (events: Buffer[]) => events.splice(1, 1)],
  ] as const)
    test(`does not begin after a log ${what}, before that is accepted`, async (t) => {
      const log = temporaryFolder(t)
      const head = {
        version: 1,
        chain: 'test-chain',
        number: 9,
        first: null,
        last: null,
        bytes: 0,
        time: null,
      }
      writeFileSync(join(log, 'head.json'), JSON.stringify(head))
      const events = eventsOf(markedBlocks(8, 12))
      damage(events)
      writeFileSync(join(log, '0000000001-8-12.bevt'), frame(events, 0n))
      const service = await follow(t, [log])
      const says = () => service.state()?.failures.join() ?? ''
      await until(() => says().includes('lyra gap accept 8 8'), 'a gap')
      assert.equal(await service.height(), 0)
      await acceptGap(openStore(service.store), { from: 8n, to: 8n })
      await until(async () => (await service.height()) === 12, 'the other blocks')
      const coverage = await readFrom(service.store, readCoverage)
      assert.deepEqual(
        [coverage!.first, ...coverage!.gaps.map(({ from, to }) => `${from} to ${to}`)],
        [8n, '8 to 8'],
      )
      await until(() => says() === '', 'the end of the fault')
    })
})
