import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type Figure, figure } from '../figures.ts'
import { type Ingested, ingestArgs, MAIN } from '../processes.ts'
import { removeStore, WORK } from '../stores/files.ts'

/** Blocks of one tenth: about 2,000,000 events, one in ten a data point. */
const BLOCKS = 100_000
const TENTHS = 10

/** The rate of the last tenth of 20,000,000 events, ingested into one store, beside that of the second tenth. */
export async function measureGrowth(): Promise<Figure[]> {
  const store = join(WORK, 'growth.db')
  removeStore(store)
  const rates: number[] = []
  for (let tenth = 0; tenth < TENTHS; tenth++) {
    const { records, seconds } = await ingestGenerated(store, [
      '--blocks',
      String(BLOCKS),
      '--points',
      '2',
      '--events',
      '11',
      '--start',
      String(1 + tenth * BLOCKS),
    ])
    rates.push(records / seconds)
  }
  removeStore(store)
  return [
    figure('intake of 20,000,000 events: the last tenth', rates.at(-1)!, 'events/s', {
      limit: { name: 'the second tenth', value: rates[1]! },
      target: { least: 0.9 },
    }),
  ]
}

/** `lyra generate | lyra ingest -`: a stream of any size needs no file. */
async function ingestGenerated(store: string, args: string[]): Promise<Ingested> {
  const generate = spawn(process.execPath, [MAIN, 'generate', ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ingest = spawn(process.execPath, [MAIN, ...ingestArgs(store), '-'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  generate.stdout.pipe(ingest.stdin)
  const [output] = await Promise.all([text(ingest.stdout), once(ingest, 'exit')])
  return JSON.parse(output.trimEnd().split('\n').at(-1)!) as Ingested
}
