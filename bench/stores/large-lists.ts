import { existsSync, renameSync } from 'node:fs'
import { projectBlock } from '#core/blocks/project-block'
import { createBatch } from '#core/model/batch'
import { checkpoints } from '#core/resources/checkpoints/description'
import { encodeCursor } from '#core/resources/cursor'
import { liquidityProviders } from '#core/resources/liquidity-providers/description'
import { findStore } from '#core/store/open-store'
import { ingest } from '../processes.ts'
import { generatedFile, marketsOf, removeStore, reusedStore } from './files.ts'

const CHAIN = 'lyra-bench'
const CHECKPOINTS = 500_000
const PROVIDERS = 5_000

/** Blocks with provisions, each of fifty providers. */
const BLOCKS = 110

/** Checkpoints of one commit. */
const CHUNK = 20_000

/** Requests for the lists other than a market's points, each from another place. */
export type ListTargets = { checkpoints(first: number): () => string; providers(first: number): () => string }

/** Content of a store of long lists: its market, the heights of its checkpoints. */
export type LargeLists = {
  store: string
  marketId: string
  heights: { first: number; last: number }
  targets: ListTargets
}

/** A SQLite store of many checkpoints, and one market with many liquidity providers. Later runs use it again. */
export async function largeLists(): Promise<LargeLists> {
  const store = reusedStore(`lists-${CHECKPOINTS}-${PROVIDERS}`)
  if (!existsSync(store)) await makeLists(store)
  const marketId = marketsOf(store)[0]!
  const heights = { first: BLOCKS + 1, last: BLOCKS + CHECKPOINTS }
  return { store, marketId, heights, targets: listTargets(marketId) }
}

async function makeLists(store: string): Promise<void> {
  const part = `${store}.part`
  removeStore(part)
  const file = await generatedFile({
    blocks: BLOCKS,
    markets: 1,
    parties: PROVIDERS,
    points: 1,
    events: 0,
    chain: CHAIN,
  })
  await ingest(part, file)
  const writer = await (await findStore(part)).openWriter()
  try {
    const coverage = await writer.coverage()
    for (let from = BLOCKS + 1; from <= BLOCKS + CHECKPOINTS; from += CHUNK) {
      const batch = createBatch()
      const to = Math.min(from + CHUNK - 1, BLOCKS + CHECKPOINTS)
      for (let height = from; height <= to; height++) {
        projectBlock(batch, {
          height: BigInt(height),
          timestamp: timeOf(height),
          events: [{ index: 2, event: checkpointAt(height) }],
          weight: 0,
          replacesAfter: null,
        })
      }
      await writer.commit(batch, { ...coverage!, height: BigInt(to), timestamp: timeOf(to) })
    }
  } finally {
    await writer.close()
  }
  renameSync(part, store)
  removeStore(part)
}

/** The generator's time, and a second a block from there. */
function timeOf(height: number): bigint {
  return (1_800_000_000n + BigInt(height)) * 1_000_000_000n
}

const hex = (number: number) => BigInt(Math.floor(number)).toString(16).padStart(64, '0')

function checkpointAt(height: number) {
  // As long as the core's: hashes of SHA3-256, in the letters that it writes them in.
  return {
    kind: 'checkpoint' as const,
    hash: hex(height * 7919),
    blockHash: hex(height).toUpperCase(),
    atBlock: BigInt(height),
  }
}

function listTargets(marketId: string): ListTargets {
  return {
    checkpoints: (first) => () => {
      // Between the keys of rows, so that no request repeats.
      const height = BLOCKS + first + Math.floor(Math.random() * (CHECKPOINTS - 2 * first))
      const cursor = encodeCursor(checkpoints, {}, [BigInt(height), hex(Math.random() * 2 ** 52)])
      return `${checkpoints.path}?pagination.first=${first}&pagination.after=${cursor}`
    },
    providers: (first) => () => {
      const edge = (2 * first) / PROVIDERS
      const share = edge + Math.random() * (1 - 2 * edge)
      const party = `${hex(share * 2 ** 52).slice(-13)}${hex(Math.random() * 2 ** 52).slice(-13)}`
      const cursor = encodeCursor(liquidityProviders, { marketId }, [marketId, party.padEnd(64, '0')])
      return `${liquidityProviders.path}?marketId=${marketId}&pagination.first=${first}&pagination.after=${cursor}`
    },
  }
}
