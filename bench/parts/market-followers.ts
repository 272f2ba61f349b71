import { get, type IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { generateBlocks } from '#tools/generate/generate'
import { dial, eventsIn, type TestCore } from '../../test/fixtures/services/core.ts'
import { type Figure, figure } from '../figures.ts'
import { type LiveService, withLiveService } from '../live-service.ts'

/** Each has a new point in every block, and a block comes every second. */
const MARKETS = 500
const BLOCK_MS = 1_000

/** Blocks before anyone follows, as fast as they can be sent. */
const FIRST_BLOCKS = 30

/** Time for the initial state, and for the measurement. */
const SETTLE_MS = 8_000
const MEASURED_MS = 30_000

/** Cost of the followers during the measurement. */
type Cost = { processorSeconds: number; events: number; bytes: number; peakMemory: number }

/** Measures streams of the state of all markets, and as their peers the streams of the same markets' points. */
export async function measureMarketFollowers(): Promise<Figure[]> {
  return withLiveService(async (service) => {
    const core = await dial(service.corePort)
    const sending = sendBlocks(core)
    try {
      await sending.begun
      await untilAllMarkets(service.base)
      const ofAll = (stream: string, count: number) => Array.from({ length: count }, () => stream)
      const none = await follow(service, [])
      // The peak of memory includes earlier measurements.
      const state = await follow(service, ofAll('market-summaries', 200))
      const points = await follow(service, ofAll('funding-period-data-points', 200))
      return figuresOf(`200 followers of ${MARKETS} markets`, none, state, points)
    } finally {
      await sending.stop()
      await core.close()
    }
  })
}

function figuresOf(what: string, none: Cost, state: Cost, points: Cost): Figure[] {
  const share = ({ processorSeconds }: Cost) =>
    ((processorSeconds - none.processorSeconds) * 1_000) / MEASURED_MS
  const note = ({ events, bytes }: Cost) =>
    `${Math.round((events * 1_000) / MEASURED_MS)} events and ${(bytes / MEASURED_MS / 1_000).toFixed(2)} MB a second`
  return [
    figure(`${what}, a block a second: the state takes of a core`, share(state), 'cores', {
      limit: { name: 'their points', value: share(points) },
      target: { most: 1.5 },
      note: `state: ${note(state)}; points: ${note(points)}`,
    }),
    figure(`${what}: peak memory`, state.peakMemory / 1e6, 'MB', {
      limit: { name: 'without followers', value: none.peakMemory / 1e6 },
      target: { most: 2 },
    }),
  ]
}

/** Sends blocks until it is stopped; `begun` resolves after the first ones, from which on a block comes every second. */
function sendBlocks(core: TestCore): { begun: Promise<void>; stop(): Promise<void> } {
  const begun = Promise.withResolvers<void>()
  let isStopped = false
  const send = async () => {
    const options = { blocks: 100_000, markets: MARKETS, points: MARKETS, parties: 2 * MARKETS, events: 0 }
    let due = performance.now()
    for (const { height, records } of generateBlocks(options)) {
      if (isStopped) return
      await core.send(eventsIn(records))
      if (height < FIRST_BLOCKS) continue
      if (height === FIRST_BLOCKS) {
        due = performance.now()
        begun.resolve()
      }
      due += BLOCK_MS
      await sleep(Math.max(0, due - performance.now()))
    }
  }
  const sent = send()
  sent.catch(begun.reject)
  return {
    begun: begun.promise,
    stop: async () => {
      isStopped = true
      await sent
    },
  }
}

/** Resolves once the service has all markets. */
async function untilAllMarkets(base: string): Promise<void> {
  for (;;) {
    const answer = await fetch(`${base}/api/v2/market-summaries?pagination.first=${MARKETS}`)
    const ids = new Set(
      [...(await answer.text()).matchAll(/"node":{"marketId":"(\w+)"/g)].map(([, id]) => id!),
    )
    if (ids.size === MARKETS) return
    await sleep(BLOCK_MS)
  }
}

/** Measures the cost of some followers after they have received the initial state. */
async function follow(service: LiveService, streams: readonly string[]): Promise<Cost> {
  const counted = { events: 0, bytes: 0 }
  const followers = await Promise.all(
    streams.map((stream) => openStream(`${service.base}/api/v2/stream/${stream}`, counted)),
  )
  await sleep(SETTLE_MS)
  const before = { ...counted, processorSeconds: service.processorSeconds() }
  await sleep(MEASURED_MS)
  const cost = {
    processorSeconds: service.processorSeconds() - before.processorSeconds,
    events: counted.events - before.events,
    bytes: counted.bytes - before.bytes,
    peakMemory: service.peakMemory(),
  }
  for (const follower of followers) follower.destroy()
  await sleep(SETTLE_MS)
  return cost
}

/** Opens a stream, whose events and bytes are added to `counted`. */
function openStream(target: string, counted: { events: number; bytes: number }): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    get(target, { agent: false }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`${target}: ${response.statusCode}`))
      let rest = ''
      response.setEncoding('latin1').on('data', (text: string) => {
        counted.bytes += text.length
        const parts = (rest + text).split('\nevent: ')
        counted.events += parts.slice(1).filter((part) => !part.startsWith('position\n')).length
        // An event may begin at the end of a piece.
        rest = parts.at(-1)!.slice(-'\nevent: '.length)
        if (text.includes('event: dropped')) throw new Error('a follower was dropped')
      })
      response.on('error', () => {})
      resolve(response)
    }).on('error', reject)
  })
}
