import { MAX_INT64 } from '../domain/integers.ts'
import type { Key, KeyType, KeyValue, Resource, Row } from './resource.ts'

/*
 * The cursors of checkpoints and providers that version 0.1.0 gave: base64url of the resource's tag (1 byte), the key's
 * columns, and a check sum (3 bytes). They are accepted still.
 */

/** Checkpoints and providers. */
const PACKED_TAGS: readonly number[] = [1, 3]

const CHECK_BYTES = 3
const MAX_CURSOR_BYTES = 2048
const HEX = /^(?:[0-9a-f]{2})+$/
const BASE64URL = /^[A-Za-z0-9_-]+$/

const scratch = Buffer.alloc(MAX_CURSOR_BYTES)

/** The cursor of a row, as version 0.1.0 wrote it. */
export function encodePackedCursor({ tag, key }: Resource, row: Row | Key): string {
  scratch[0] = tag
  let at = 1
  for (const [index, { type }] of key.entries()) at = writeValue(type, row[index]!, at)
  scratch.writeUIntBE(checkSum(at), at, CHECK_BYTES)
  return scratch.toString('base64url', 0, at + CHECK_BYTES)
}

/** Whether a text is a cursor of this form, of whatever resource. */
export function isPackedCursor(text: string): boolean {
  return unpack(text) !== null
}

/** The key that a cursor holds, or what is wrong with it. */
export function decodePackedCursor(
  resource: Resource,
  text: string,
): Key | 'garbled' | 'of another resource' {
  const bytes = unpack(text)
  if (bytes === null) return 'garbled'
  if (!PACKED_TAGS.includes(resource.tag) || bytes[0] !== resource.tag) return 'of another resource'
  const key = readKey(resource, bytes)
  // Whatever does not come out the same again (another spelling of the same bytes, say) is not a cursor of ours.
  return key !== null && encodePackedCursor(resource, key) === text ? key : 'garbled'
}

/** The bytes in a cursor, without the check sum; null where that is not right. */
function unpack(text: string): Buffer | null {
  if (!BASE64URL.test(text) || text.length > MAX_CURSOR_BYTES) return null
  const bytes = Buffer.from(text, 'base64url')
  const end = bytes.length - CHECK_BYTES
  if (end < 1) return null
  bytes.copy(scratch)
  return checkSum(end) === bytes.readUIntBE(end, CHECK_BYTES) ? bytes.subarray(0, end) : null
}

function readKey(resource: Resource, bytes: Buffer): Key | null {
  let at = 1
  const key: KeyValue[] = []
  try {
    for (const { type } of resource.key) {
      const [value, next] = readValue(type, bytes, at)
      key.push(value)
      at = next
    }
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
  return at === bytes.length ? key : null
}

function writeValue(type: KeyType, value: string | number | bigint | null, at: number): number {
  switch (type) {
    case 'uint64':
      return writeVarint(value!, at)
    case 'id':
    case 'text': {
      const text = value as string
      if (HEX.test(text)) {
        const start = writeVarint(text.length, at)
        return start + scratch.write(text, start, 'hex')
      }
      const bytes = Buffer.from(text)
      const start = writeVarint(bytes.length * 2 + 1, at)
      return start + bytes.copy(scratch, start)
    }
    default:
      throw new TypeError(`cursors of this form hold no ${type}`)
  }
}

function readValue(type: KeyType, bytes: Buffer, at: number): [KeyValue, number] {
  switch (type) {
    case 'uint64': {
      const [value, end] = readVarint(bytes, at)
      if (value > MAX_INT64) throw new RangeError('a number that no row can have')
      return [value, end]
    }
    case 'id':
    case 'text': {
      const [head, start] = readVarint(bytes, at)
      const end = start + Number(head >> 1n)
      if (end > bytes.length) throw new RangeError('a text longer than its cursor')
      const text = bytes.toString(head % 2n === 0n ? 'hex' : 'utf8', start, end)
      if (text.includes('\0')) throw new RangeError('a text that no row can have')
      return [text, end]
    }
    default:
      throw new TypeError(`cursors of this form hold no ${type}`)
  }
}

function writeVarint(value: string | number | bigint, at: number): number {
  let next = at
  // Nearly every number is a small one, and big integers are slow.
  let small = Number(value)
  if (Number.isSafeInteger(small)) {
    while (small >= 128) {
      scratch[next++] = (small % 128) | 128
      small = Math.floor(small / 128)
    }
    scratch[next++] = small
    return next
  }
  let rest = BigInt(value)
  while (rest >= 128n) {
    scratch[next++] = Number(rest & 127n) | 128
    rest >>= 7n
  }
  scratch[next++] = Number(rest)
  return next
}

function readVarint(bytes: Buffer, at: number): [bigint, number] {
  let value = 0n
  for (let index = 0; index < 10; index++) {
    const byte = bytes.readUInt8(at + index)
    value |= BigInt(byte & 127) << BigInt(7 * index)
    if (byte < 128) return [BigInt.asUintN(64, value), at + index + 1]
  }
  throw new RangeError('a number longer than 64 bits')
}

/** FNV-1a over the scratch buffer's first bytes, folded to 24 bits. */
function checkSum(length: number): number {
  let sum = 0x811c9dc5
  for (let index = 0; index < length; index++) {
    sum = Math.imul(sum ^ scratch[index]!, 0x01000193)
  }
  return ((sum >>> 24) ^ sum) & 0xffffff
}
