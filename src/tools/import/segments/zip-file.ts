import { readSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { crc32, createInflateRaw } from 'node:zlib'
import { fromRandomAccessReaderPromise, RandomAccessReader, type ZipFile } from 'yauzl'
import { ImportError } from '../import-error.ts'

/** Maximum number of entries in a zip; a segment has about a hundred. */
const MAX_ENTRIES = 10_000

/** Sizes of the pieces that are read, and of those that are inflated. */
const READ_BYTES = 64 * 1024
const INFLATED_BYTES = 64 * 1024

/**
 * Tables are compressed to a tenth or a twentieth. An entry that claims to be larger than this, and many times its
 * compressed size, is refused.
 */
const CLAIMED_BYTES = 64 * 1024 * 1024
const CLAIMED_RATIO = 250

/** The signature of a local header, and the header's size without name and extra field. */
const LOCAL_HEADER = 0x04034b50
const LOCAL_HEADER_BYTES = 30

const STORED = 0
const DEFLATED = 8

/** An entry of the directory. */
type ZipEntry = {
  name: string
  /** The offset of its local header. */
  offset: number
  compressedSize: number
  uncompressedSize: number
  compressionMethod: number
  crc32: number
  isEncrypted: boolean
}

/**
 * A zip whose central directory has been read. The file is open only while it is being read, because there may be
 * thousands.
 */
export type ZipDirectory = {
  /** The names of the requested entries. */
  names: readonly string[]
  /** The uncompressed size of an entry, in bytes. */
  size(name: string): number
  /**
   * The inflated bytes of an entry, in pieces. `onRead` is called with the number of bytes read from the file.
   *
   * @throws {ImportError} if the entry is damaged: its size or checksum differs from the directory.
   */
  read(name: string, onRead?: (bytes: number) => void): AsyncGenerator<Buffer, void, undefined>
}

/**
 * Reads the central directory of a zip; only the entries with these names are remembered.
 *
 * @throws {ImportError} if the zip is incomplete.
 */
export async function readZipDirectory(
  path: string,
  isWanted: (name: string) => boolean,
): Promise<ZipDirectory> {
  const file = await open(path, 'r')
  try {
    const { size } = await file.stat()
    const zip = await fromRandomAccessReaderPromise(new BoundedReader(file, size), size, { autoClose: false })
    const entries = await readEntries(zip, isWanted)
    return {
      names: [...entries.keys()],
      size: (name) => entries.get(name)!.uncompressedSize,
      read: (name, onRead) => readEntry(path, entries.get(name)!, onRead ?? (() => {})),
    }
  } catch (error) {
    throw damagedZip(path, error)
  } finally {
    await file.close()
  }
}

function damagedZip(path: string, error: unknown): ImportError {
  if (error instanceof ImportError) return error
  return new ImportError(
    `${path}: not a complete zip file: ${(error as Error).message.replace(/\.$/, '')}. Copy the segment again; the data node rewrites it`,
    { cause: error },
  )
}

/** Reads only within the file, whatever its directory claims. */
class BoundedReader extends RandomAccessReader {
  readonly #file: FileHandle
  readonly #size: number

  constructor(file: FileHandle, size: number) {
    super()
    this.#file = file
    this.#size = size
  }

  override read(
    buffer: Buffer,
    offset: number,
    length: number,
    position: number,
    callback: (error: Error | null, bytesRead?: number) => void,
  ): void {
    const isWithin = position >= 0 && length >= 0 && position + length <= this.#size
    const bytes = isWithin ? readSync(this.#file.fd, buffer, offset, length, position) : 0
    const fault = !isWithin ? 'its offset is outside the file' : 'the file ends within it'
    setImmediate(callback, isWithin && bytes === length ? null : new Error(fault), bytes)
  }
}

async function readEntries(
  zip: ZipFile,
  isWanted: (name: string) => boolean,
): Promise<Map<string, ZipEntry>> {
  if (zip.entryCount > MAX_ENTRIES) {
    throw new Error(`it has ${zip.entryCount} entries; at most ${MAX_ENTRIES} are allowed`)
  }
  const names = new Set<string>()
  const entries = new Map<string, ZipEntry>()
  for await (const entry of zip.eachEntry()) {
    const { fileName } = entry
    if (names.has(fileName)) throw new Error(`it has two entries ${JSON.stringify(fileName)}`)
    names.add(fileName)
    if (!isWanted(fileName)) continue
    const { compressedSize, uncompressedSize, compressionMethod, crc32 } = entry
    entries.set(fileName, {
      name: fileName,
      offset: entry.relativeOffsetOfLocalHeader,
      compressedSize,
      uncompressedSize,
      compressionMethod,
      crc32,
      isEncrypted: entry.isEncrypted(),
    })
  }
  return entries
}

async function* readEntry(
  path: string,
  entry: ZipEntry,
  onRead: (bytes: number) => void,
): AsyncGenerator<Buffer, void, undefined> {
  const { compressedSize, uncompressedSize, compressionMethod } = entry
  const fail = (what: string) =>
    new ImportError(`${path}: its entry ${entry.name} is damaged: ${what}. Copy the segment again`)
  if (entry.isEncrypted) throw fail('it is encrypted')
  if (compressionMethod !== STORED && compressionMethod !== DEFLATED) {
    throw fail(`it is compressed by method ${compressionMethod}; segments use ${DEFLATED}`)
  }
  if (uncompressedSize > CLAIMED_BYTES && uncompressedSize / Math.max(1, compressedSize) > CLAIMED_RATIO) {
    throw fail(`${compressedSize} bytes that claim to be ${uncompressedSize}`)
  }
  let size = 0
  let sum = 0
  const file = await open(path, 'r')
  try {
    for await (const bytes of inflated(file, await dataStart(file, entry), entry, onRead)) {
      size += bytes.length
      if (size > uncompressedSize) break
      sum = crc32(bytes, sum)
      yield bytes
    }
  } catch (error) {
    throw fail((error as Error).message)
  } finally {
    await file.close()
  }
  if (size > uncompressedSize)
    throw fail(`it has more than the ${uncompressedSize} bytes that its directory gives`)
  if (size < uncompressedSize) throw fail(`it has ${size} bytes, but its directory gives ${uncompressedSize}`)
  if (sum !== entry.crc32) throw fail('its check sum (CRC-32) differs')
}

/**
 * The offset of an entry's data. They follow its local header, whose name and extra field may have another size than in the
 * directory.
 */
async function dataStart(file: FileHandle, entry: ZipEntry): Promise<number> {
  const { size } = await file.stat()
  const { offset, compressedSize } = entry
  if (offset + LOCAL_HEADER_BYTES > size) throw new Error('it begins after the end of the file')
  const header = Buffer.alloc(LOCAL_HEADER_BYTES)
  await file.read(header, 0, header.length, offset)
  if (header.readUInt32LE(0) !== LOCAL_HEADER) throw new Error('no entry begins where its directory says')
  const start = offset + LOCAL_HEADER_BYTES + header.readUInt16LE(26) + header.readUInt16LE(28)
  if (start + compressedSize > size) throw new Error('it ends after the end of the file')
  return start
}

/** The inflated bytes, in pieces, of an entry whose data begin at `start`. */
async function* inflated(
  file: FileHandle,
  start: number,
  { compressedSize, compressionMethod }: ZipEntry,
  onRead: (bytes: number) => void,
): AsyncGenerator<Buffer, void, undefined> {
  if (compressedSize === 0) return
  const end = start + compressedSize - 1
  const raw = file.createReadStream({ start, end, highWaterMark: READ_BYTES, autoClose: false })
  raw.on('data', (bytes) => onRead(bytes.length))
  try {
    if (compressionMethod === STORED) yield* raw
    else {
      const inflate = createInflateRaw({ chunkSize: INFLATED_BYTES })
      raw.on('error', (error) => inflate.destroy(error))
      yield* raw.pipe(inflate)
    }
  } finally {
    raw.destroy()
  }
}
