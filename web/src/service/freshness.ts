import { computed } from '@preact/signals'
import { formatAge, formatMinute, formatSecond, formatTime } from '../figures/format-time.ts'
import { now } from './clock.ts'
import { connection, reasonOf } from './connection.ts'
import { coverageError, coverageSamples, coverageTime, latestCoverage, readiness } from './coverage.ts'

/** A last block of at most this age is live: blocks come every second or so, and clocks differ a little. */
const LIVE_MS = 60_000

/** A service receives blocks if one has arrived within this time, however old it is. */
const WATCHED_MS = 20_000

/** How current the data are: the one place that says so, for the header, the Node page and the button. */
export type Freshness = {
  state: 'connecting' | 'live' | 'receiving' | 'lagging' | 'static' | 'not-ready' | 'empty' | 'down'
  /** In one or two words, with the age, the lag, the date or the reason. */
  text: string
  /** The full text. */
  more: string
}

/** Whether the service says that it is behind: estimates and next payments are not those of now. */
export const isBehind = computed(
  () =>
    readiness.value?.status === 'not ready' &&
    readiness.value.reasons.some(({ reason }) => reason === 'behind'),
)

/** Why the service does not say which blocks it has; null if it does, or has done so a moment ago. */
const refusal = computed(() => {
  const error = coverageError.value
  const isRecent = now.value - (coverageTime() ?? 0) < WATCHED_MS
  return error === null || isRecent ? null : reasonOf(error)
})

/** Whether estimates and next payments may not be those of now: the service is behind, or does not answer. */
export const isOutdated = computed(
  () => isBehind.value || refusal.value !== null || connection.value.state === 'down',
)

/** Whether blocks arrive and the service keeps up: spans from now mean something. */
export const isCurrent = computed(
  () => !isBehind.value && ['live', 'receiving'].includes(freshness.value.state),
)

export const freshness = computed<Freshness>(() => {
  if (connection.value.state === 'down') {
    const since = formatTime(BigInt(connection.value.since) * 1_000_000n).slice(11, 19)
    return { state: 'down', text: 'down', more: `The service has not responded since ${since} UTC.` }
  }
  const ready = readiness.value
  const reasons = ready?.status === 'not ready' ? ready.reasons : []
  if (reasons.some(({ reason }) => reason === 'empty store')) {
    return { state: 'empty', text: 'not ready: empty', more: 'The store has no blocks yet.' }
  }
  const other = reasons.filter(({ reason }) => reason !== 'behind')
  if (other.length > 0) {
    const [first] = other
    return {
      state: 'not-ready',
      text: `not ready: ${first!.reason}`,
      more: `Not ready: ${other.map(({ message }) => message).join('; ')}.`,
    }
  }
  const coverage = latestCoverage()
  if (refusal.value !== null) return { state: 'not-ready', text: 'not ready', more: refusal.value }
  if (coverage === null || ready === null) {
    return { state: 'connecting', text: 'connecting', more: 'The service has not responded yet.' }
  }
  const last = BigInt(coverage.blocks.lastTimestamp)
  const age = BigInt(now.value) * 1_000_000n - last
  const asOf = `${formatSecond(last)} UTC`
  const nearly = BigInt(LIVE_MS) * 1_000_000n
  const distance = age < -nearly ? `${formatAge(-age)} after this browser's time` : `${formatAge(age)} ago`
  if (!isBehind.value && age <= nearly && age >= -nearly) {
    return {
      state: 'live',
      text: `live · ${formatAge(age)}`,
      more: `Live: the last block is ${formatAge(age)} old.`,
    }
  }
  const minute = `${formatMinute(last)} UTC`
  if (hasGrown()) {
    return {
      state: 'receiving',
      text: `receiving · ${minute}`,
      more: `Receiving blocks. The last one is from ${asOf}, ${distance}.`,
    }
  }
  if (isBehind.value) {
    return {
      state: 'lagging',
      text: `lagging by ${formatAge(age)}`,
      more: `Lagging: the last block is from ${asOf}, ${distance}.`,
    }
  }
  return {
    state: 'static',
    text: `as of ${minute}`,
    more: `The last block is from ${asOf}, ${distance}.`,
  }
})

/** Whether blocks arrived lately, as far as this page has watched. */
function hasGrown(): boolean {
  const samples = coverageSamples.value.filter(({ at }) => at > now.value - WATCHED_MS)
  const [first, last] = [samples[0], samples.at(-1)]
  return first !== undefined && last !== undefined && last.height !== first.height
}
