import type { LongReads } from './long-reads.ts'

/**
 * The same reads, whose faults are noted before they reject: streams, and exports whose answer has begun, tell no client of
 * them.
 */
export function withNotedFaults(longReads: LongReads, noteFault: (error: unknown) => void): LongReads {
  const noted = async <Answer>(reading: Promise<Answer>): Promise<Answer> => {
    try {
      return await reading
    } catch (error) {
      noteFault(error)
      throw error
    }
  }
  return {
    ...longReads,
    readChunk: (query, readClass) => noted(longReads.readChunk(query, readClass)),
    readSummaries: (lastAnswer) => noted(longReads.readSummaries(lastAnswer)),
    openExport: async (query, format) => {
      const opened = await noted(longReads.openExport(query, format))
      return {
        storeHead: opened.storeHead,
        next: () => noted(opened.next()),
        close: () => opened.close(),
      }
    },
  }
}
