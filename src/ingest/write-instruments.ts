import { readFileSync, statSync } from 'node:fs'
import { placeInFile } from '../domain/place.ts'
import { projectEvent } from '../resources/arrivals.ts'
import { createBatch } from '../resources/batch.ts'
import {
  InstrumentFileError,
  type InstrumentNodes,
  parseInstruments,
} from '../resources/instruments/nodes.ts'
import { StoreError, type Writer } from '../store/store.ts'

/** A file of instruments is read whole; those of every market of a network take a few megabytes. */
const MAX_FILE_BYTES = 64 * 1024 * 1024

/**
 * Reads a file of instruments.
 *
 * @throws {InstrumentFileError} for a file that cannot be read, is too large, or not as it should be.
 */
export function readInstruments(path: string): InstrumentNodes {
  let text: string
  try {
    const { size } = statSync(path)
    if (size > MAX_FILE_BYTES) {
      throw new InstrumentFileError(
        `--instruments ${path}: has ${size} bytes, allowed are ${MAX_FILE_BYTES}; split it into several files`,
      )
    }
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (error instanceof InstrumentFileError) throw error
    throw new InstrumentFileError(`--instruments ${path}: cannot be read: ${(error as Error).message}`)
  }
  return parseInstruments(text, `--instruments ${path}`)
}

/**
 * Writes instruments and assets of a file. They are given places before all blocks, so that they never replace what an
 * event has written, and every event replaces them; a later file replaces what an earlier one has written.
 *
 * @throws {StoreError} if the store holds no block yet.
 */
export async function writeInstruments(writer: Writer, { markets, assets }: InstrumentNodes): Promise<void> {
  const coverage = await writer.coverage()
  if (coverage === null) {
    throw new StoreError(
      '--instruments: the store is empty, so its chain is unknown; ingest event files first, or name them in the same call',
    )
  }
  const batch = createBatch()
  for (const [index, event] of [...assets, ...markets].entries()) {
    projectEvent(batch, event, placeInFile(index + 1))
  }
  await writer.commit(batch, coverage)
}
