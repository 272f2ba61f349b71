import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { PollSchedule } from '#service/streams/poll-schedule'

/** Milliseconds since the start of the process: long enough that nothing counts as recent. */
const NOW = 1_000_000

/** A schedule whose store has been asked at {@link NOW}, with the last reported commit before that. */
function scheduleOf(commitAt: number | null): PollSchedule {
  const schedule = new PollSchedule()
  if (commitAt !== null) schedule.committed(commitAt)
  schedule.begin(NOW)
  return schedule
}

describe('The schedule of polls', () => {
  for (const { commits, commitAt, after, isDue } of [
    { commits: 'were never reported', commitAt: null, after: 99, isDue: false },
    { commits: 'were never reported', commitAt: null, after: 100, isDue: true },
    { commits: 'were reported just now', commitAt: NOW, after: 100, isDue: false },
    { commits: 'were reported just now', commitAt: NOW, after: 999, isDue: false },
    { commits: 'were reported just now', commitAt: NOW, after: 1_000, isDue: true },
    { commits: 'were reported 10 s ago', commitAt: NOW - 9_900, after: 99, isDue: false },
    { commits: 'were reported 10 s ago', commitAt: NOW - 9_900, after: 100, isDue: true },
  ]) {
    test(`asks the store ${isDue ? '' : 'not yet '}after ${after} ms if commits ${commits}`, () => {
      assert.equal(scheduleOf(commitAt).isDue(NOW + after), isDue)
    })
  }

  test('asks at once after a commit, and says which poll that was', () => {
    const schedule = scheduleOf(null)
    schedule.committed(NOW + 1)
    assert.ok(schedule.isDue(NOW + 1))
    assert.equal(schedule.begin(NOW + 2), true)
    assert.equal(schedule.isDue(NOW + 3), false)
    assert.equal(schedule.begin(NOW + 4), false)
  })

  test('has gaps looked for after each commit, and every second without one', () => {
    const schedule = scheduleOf(null)
    assert.equal(schedule.beginGapSearch(false, NOW), true)
    assert.equal(schedule.beginGapSearch(false, NOW + 999), false)
    assert.equal(schedule.beginGapSearch(true, NOW + 999), true)
    assert.equal(schedule.beginGapSearch(false, NOW + 1_000), false)
    assert.equal(schedule.beginGapSearch(false, NOW + 1_999), true)
  })
})
