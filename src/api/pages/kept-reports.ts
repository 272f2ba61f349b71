import { LRUCache } from 'lru-cache'
import type { Reader } from '../../store/store.ts'
import type { MadeReport, Pages, ReportRequest } from './make-page.ts'

/** Bytes of reports kept, and what an entry takes beside its own. */
const MAX_BYTES = 16 * 1024 * 1024
const ENTRY_BYTES = 1_000

/** A report, or its making, and the commit that it is of. */
type Kept = { commit: string; made: Promise<MadeReport | null> }

/** Gives the report that a request asks for; `key` identifies it. */
export type KeptReports = (key: string, asked: ReportRequest) => Promise<MadeReport | null>

/** A report in memory that is not given back. */
function ownMemory(made: MadeReport | null): MadeReport | null {
  if (made?.release === undefined) return made
  const { release, body, ...others } = made
  const copy = Buffer.from(body)
  release()
  return { ...others, body: copy }
}

/** Makes reports that change with every commit, each once a commit, whoever asks; the last ones asked for are kept. */
export function createKeptReports({ reader, pages }: { reader: Reader; pages: Pages }): KeptReports {
  const kept = new LRUCache<string, Kept>({ maxSize: MAX_BYTES })
  const keep = (key: string, report: Kept, bytes: number) =>
    kept.set(key, report, { size: bytes + key.length + ENTRY_BYTES })

  return async (key, asked) => {
    // Of replicas each may stand at another commit, and a report does not say of which it is.
    if (reader.replicas !== undefined) return pages.report(asked)
    const { version } = await reader.freshness(null)
    const commit = `${version.version} ${version.mark}`
    const known = kept.get(key)
    if (known?.commit === commit) return known.made
    const report = { commit, made: pages.report(asked).then(ownMemory) }
    keep(key, report, 0)
    report.made.then(
      (made) => {
        if (kept.peek(key) === report) keep(key, report, made?.body.length ?? 0)
      },
      () => {
        if (kept.peek(key) === report) kept.delete(key)
      },
    )
    return report.made
  }
}
