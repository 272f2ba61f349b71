import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { throttled } from '#service/health/throttled'

test('Throttled work runs once for all waiting callers, and pauses in between', async () => {
  let runs = 0
  const ask = throttled(async () => {
    runs++
    const until = performance.now() + 20
    while (performance.now() < until);
    return runs
  })
  assert.equal(await ask(), 1)
  const answers = await Promise.all(Array.from({ length: 100 }, ask))
  assert.deepEqual(new Set(answers), new Set([2]))
  const since = performance.now()
  while (performance.now() - since < 500) await ask()
  // Without pauses it would be 25 runs.
  assert.ok(runs <= 10, `${runs} runs`)
  assert.ok(runs > 2)
})

test('A failed run is reported to its callers, and the next one starts', async () => {
  let fails = true
  const ask = throttled(async () => {
    if (fails) throw new Error('not now')
    return 'well'
  })
  await assert.rejects(ask(), /not now/)
  fails = false
  await delay(1)
  assert.equal(await ask(), 'well')
})

test('Failing work pauses as well', async () => {
  let runs = 0
  const ask = throttled(async () => {
    runs++
    await delay(20)
    throw new Error('not now')
  })
  const since = performance.now()
  while (performance.now() - since < 500) await assert.rejects(ask(), /not now/)
  // Without pauses it would be 25 runs.
  assert.ok(runs > 2 && runs <= 10, `${runs} runs`)
})
