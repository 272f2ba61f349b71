import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { type ReadProgress, readEventFile } from '#core/records/event-file'
import { CompressionError } from '#core/records/gunzip'
import { readAhead } from '#core/records/read-ahead'
import { fileWith, temporaryFolder } from '../fixtures/stores/stores.ts'

/** More than is read ahead at a time: first incompressible, then compressible bytes. */
const CONTENT = Buffer.concat([randomBytes(9_000_001), Buffer.alloc(12_000_000, 'block after block ')])
const GZIPPED = gzipSync(CONTENT, { level: 1 })

type Reading = { bytes: Buffer; progress: ReadProgress; error: Error | null }

async function readAll(
  read: typeof readAhead,
  path: string,
  onChunk: (count: number) => Promise<void> | void = () => {},
): Promise<Reading> {
  const progress: ReadProgress = { bytesRead: 0 }
  const chunks: Buffer[] = []
  try {
    for await (const chunk of read(path, progress)) {
      chunks.push(Buffer.from(chunk))
      await onChunk(chunks.length)
    }
    return { bytes: Buffer.concat(chunks), progress, error: null }
  } catch (error) {
    return { bytes: Buffer.concat(chunks), progress, error: error as Error }
  }
}

function digest(bytes: Buffer): string {
  return createHash('sha1').update(bytes).digest('hex')
}

for (const [name, content] of [
  ['plain', CONTENT],
  ['gzipped', GZIPPED],
] as const) {
  test(`A large file, ${name}, is read unchanged, however slow the consumer`, async (t) => {
    const path = fileWith(t, content)
    for (const pause of [0, 5]) {
      const { bytes, progress, error } = await readAll(readAhead, path, async (count) => {
        if (pause > 0 && count % 4 === 0) await new Promise((resolve) => setTimeout(resolve, pause))
      })
      assert.equal(error, null)
      assert.equal(digest(bytes), digest(CONTENT))
      assert.deepEqual(progress, { bytesRead: content.length, isCutShort: false })
    }
  })
}

test('A truncated or damaged large file yields its good bytes, then the same error as a small one', async (t) => {
  const damaged = Buffer.from(GZIPPED)
  damaged.fill(0xff, 7_000_000, 7_000_100)
  const cases = {
    'cut short': GZIPPED.subarray(0, 8_000_000),
    'cut short within its check sum': GZIPPED.subarray(0, -3),
    damaged,
    'followed by something else': Buffer.concat([GZIPPED, Buffer.from('and this is no gzip')]),
    'of two members': Buffer.concat([GZIPPED, GZIPPED]),
  }
  for (const [name, content] of Object.entries(cases)) {
    const path = fileWith(t, content)
    const [ahead, here] = [await readAll(readAhead, path), await readAll(readEventFile, path)]
    assert.equal(ahead.error?.name, here.error?.name, name)
    assert.equal(ahead.error?.message, here.error?.message, name)
    assert.equal(digest(ahead.bytes), digest(here.bytes), name)
    assert.deepEqual(ahead.progress.isCutShort, here.progress.isCutShort, name)
    const isBad = name === 'damaged' || name === 'followed by something else'
    assert.equal(ahead.error instanceof CompressionError, isBad, name)
    assert.equal(ahead.progress.isCutShort, name.startsWith('cut short'), name)
  }
})

test('Reading ahead ends when its consumer stops or it is aborted', async (t) => {
  const path = fileWith(t, GZIPPED)
  for await (const chunk of readAhead(path, { bytesRead: 0 })) {
    assert.ok(chunk.length > 0)
    break
  }
  const stop = new AbortController()
  let count = 0
  for await (const _ of readAhead(path, { bytesRead: 0 }, stop.signal)) {
    count += 1
    if (count === 3) stop.abort()
  }
  assert.equal(count, 3)
  const stopped = AbortSignal.abort()
  for await (const _ of readAhead(path, { bytesRead: 0 }, stopped)) assert.fail('nothing must be read')
  // No thread may be left that would keep this process running.
  assert.deepEqual(
    process.getActiveResourcesInfo().filter((name) => /port|worker/i.test(name)),
    [],
  )
})

test('Files that cannot be read, small or large, are refused in the same way', async (t) => {
  const folder = temporaryFolder(t)
  for (const path of [join(folder, 'nothing.evts'), folder]) {
    const { error } = await readAll(readAhead, path)
    assert.match((error as NodeJS.ErrnoException).code ?? '', /^(ENOENT|EISDIR)$/, path)
  }
})
