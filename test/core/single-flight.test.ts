import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { singleFlight } from '#core/concurrency/single-flight'

/** Work that ends on request: each run's number, and how to end it. */
function stepwise() {
  const ends: PromiseWithResolvers<number>[] = []
  const runs = singleFlight(() => {
    const end = Promise.withResolvers<number>()
    ends.push(end)
    return end.promise
  })
  return { runs, ends }
}

describe('single flight', () => {
  test('give every caller during a run the next one, which they share', async () => {
    const { runs, ends } = stepwise()
    const first = runs.fresh()
    const later = [runs.fresh(), runs.fresh()]
    assert.equal(runs.current(), first)
    ends[0]!.resolve(1)
    assert.equal(await first, 1)
    await new Promise(setImmediate)
    assert.equal(ends.length, 2)
    ends[1]!.resolve(2)
    assert.deepEqual(await Promise.all(later), [2, 2])
    await runs.settled()
    assert.equal(runs.isRunning, false)
  })

  test('start the next run after a failed one, which also settles', async () => {
    const { runs, ends } = stepwise()
    const failing = runs.current()
    const next = runs.fresh()
    const settled = runs.settled()
    ends[0]!.reject(new Error('away'))
    await assert.rejects(failing, /away/)
    await new Promise(setImmediate)
    ends[1]!.resolve(2)
    assert.equal(await next, 2)
    await settled
  })
})
