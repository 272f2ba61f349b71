import { get, type IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { generateBlocks } from '#tools/generate/generate'
import { dial, eventsIn } from '../../test/fixtures/services/core.ts'
import { type Figure, figure } from '../figures.ts'
import { type LiveService, withLiveService } from '../live-service.ts'

const FOLLOWERS = 100

/** About 250 are listed; the generator renews a market's list every 10 to 30 blocks. */
const PARTIES = 260

/** Blocks with the provisions, then blocks that are followed. */
const FIRST_BLOCKS = 20
const FOLLOWED_BLOCKS = 200

/** Wait between blocks, so that each list is committed and sent before the next one. */
const BLOCK_MS = 20

/** After so long without a row, the stream counts as finished. */
const QUIET_MS = 1_000

/** Bytes of lines received by followers, by the beginning of the line. */
type Received = { id: number; data: number; rows: number }

/**
 * The stream of a market's providers, whose figures all change with one event: the bytes of resume ids beside those of
 * rows.
 */
export async function measureProviderStream(): Promise<Figure[]> {
  return withLiveService(async (service) => {
    const received = await followProviders(service)
    const each = (bytes: number) => bytes / received.rows
    return [
      figure(
        "providers' stream, 250 rows changed in a block, 100 followers: ids a row",
        each(received.id),
        'bytes',
        {
          limit: { name: 'its data', value: each(received.data) },
          target: { most: 0.1 },
          note: `${received.rows} rows received`,
        },
      ),
    ]
  })
}

async function followProviders({ base, corePort }: LiveService): Promise<Received> {
  const core = await dial(corePort)
  const received: Received = { id: 0, data: 0, rows: 0 }
  const followers: IncomingMessage[] = []
  const options = {
    blocks: FIRST_BLOCKS + FOLLOWED_BLOCKS,
    markets: 1,
    parties: PARTIES,
    points: 1,
    events: 0,
  }
  try {
    for (const { height, records } of generateBlocks(options)) {
      await core.send(eventsIn(records))
      if (height === FIRST_BLOCKS) {
        const target = `${base}/api/v2/stream/liquidity-providers?marketId=${await marketOf(base)}`
        for (let count = 0; count < FOLLOWERS; count++) followers.push(await follow(target, received))
      }
      if (height >= FIRST_BLOCKS) await sleep(BLOCK_MS)
    }
    await untilQuiet(received)
  } finally {
    for (const follower of followers) follower.destroy()
    await core.close()
  }
  if (received.rows < FOLLOWERS * PARTIES) throw new Error(`only ${received.rows} rows came`)
  return received
}

/** The market, once the store has its points. */
async function marketOf(base: string): Promise<string> {
  for (;;) {
    const id = /[0-9a-f]{64}/.exec(await (await fetch(`${base}/api/v2/coverage`)).text())
    if (id !== null) return id[0]
    await sleep(BLOCK_MS)
  }
}

/** Follows a stream and counts its lines. */
function follow(target: string, received: Received): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    get(target, { agent: false }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`${target}: ${response.statusCode}`))
      let rest = ''
      response.setEncoding('latin1').on('data', (text: string) => {
        const lines = (rest + text).split('\n')
        rest = lines.pop()!
        for (const line of lines) countLine(line, received)
      })
      response.on('error', () => {})
      resolve(response)
    }).on('error', reject)
  })
}

function countLine(line: string, received: Received): void {
  const bytes = line.length + 1
  if (line.startsWith('id: ')) received.id += bytes
  else if (line.startsWith('data: {')) {
    received.data += bytes
    received.rows++
  } else if (line === 'event: dropped') throw new Error('a follower was dropped')
}

async function untilQuiet(received: Received): Promise<void> {
  for (let before = -1; before !== received.rows; ) {
    before = received.rows
    await sleep(QUIET_MS)
  }
}
