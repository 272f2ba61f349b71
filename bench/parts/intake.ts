import { join } from 'node:path'
import { type Figure, figure, median } from '../figures.ts'
import { type Ingested, ingest, runForJson } from '../processes.ts'
import { removeStore, WORK } from '../stores/files.ts'

type Framed = { records: number; bytes: number; seconds: number }

const ROUNDS = 3

const FRAME_ONLY = join(import.meta.dirname, '../peers/frame-only.ts')

/** The time of ingesting a file, beside that of only inflating and framing it, in turns; and its rates. */
export async function measureIntake(name: string, path: string, target: Figure['target']): Promise<Figure[]> {
  const store = join(WORK, 'intake.db')
  const ours: Ingested[] = []
  const limits: Framed[] = []
  for (let round = 0; round < ROUNDS; round++) {
    limits.push(await runForJson<Framed>(FRAME_ONLY, [path]))
    removeStore(store)
    ours.push(await ingest(store, path))
  }
  const { records, bytes } = limits[0]!
  const seconds = median(ours.map((run) => run.seconds))
  const limit = median(limits.map((run) => run.seconds))
  return [
    figure(`intake of ${name}: time`, seconds, 's', {
      limit: { name: 'gunzip and frame', value: limit },
      target,
    }),
    figure(`intake of ${name}: rate`, records / seconds, 'events/s'),
    figure(`intake of ${name}: rate`, bytes / seconds / 1e6, 'MB/s'),
  ]
}
