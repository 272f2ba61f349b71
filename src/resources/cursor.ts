import { hash } from 'node:crypto'
import { MAX_INT64 } from '../domain/integers.ts'
import type { Key, KeyType, KeyValue, Resource, Row } from './resource.ts'

/*
 * A cursor is base64url of: the resource's tag (1 byte); where the resource is bound to a scope, the first 6
 * bytes of SHA-256 of the scope's id; the key's columns; a check sum (3 bytes). It holds the whole key, so it
 * stays good after its row is gone, and it depends on nothing but the row's identity.
 */

const FINGERPRINT_BYTES = 6
const CHECK_BYTES = 3
const MAX_CURSOR_BYTES = 2048
const HEX = /^(?:[0-9a-f]{2})+$/
const BASE64URL = /^[A-Za-z0-9_-]+$/

const scratch = Buffer.alloc(MAX_CURSOR_BYTES)

/** Why a text is not a cursor that the request may carry. */
export type CursorFault = 'empty' | 'garbled' | 'of another resource' | 'of another market'

/** The cursor of a row; `scope` is the id that the resource's cursors are bound to. */
export function encodeCursor(resource: Resource, scope: string | null, row: Row | Key): string {
  scratch[0] = resource.cursorTag
  let at = 1
  if (scope !== null) at += fingerprint(scope).copy(scratch, at)
  for (let index = 0; index < resource.key.length; index++) {
    at = writeValue(resource.key[index]!.type, row[index]!, at)
  }
  scratch.writeUIntBE(checkSum(at), at, CHECK_BYTES)
  return scratch.toString('base64url', 0, at + CHECK_BYTES)
}

/** The key that a cursor holds, or what is wrong with it. */
export function decodeCursor(resource: Resource, scope: string | null, text: string): Key | CursorFault {
  if (text === '') return 'empty'
  if (!BASE64URL.test(text) || text.length > MAX_CURSOR_BYTES) return 'garbled'
  const bytes = Buffer.from(text, 'base64url')
  const end = bytes.length - CHECK_BYTES
  if (end < 1) return 'garbled'
  bytes.copy(scratch)
  if (checkSum(end) !== bytes.readUIntBE(end, CHECK_BYTES)) return 'garbled'
  if (bytes[0] !== resource.cursorTag) return 'of another resource'
  const key = readKey(resource, scope, bytes.subarray(0, end))
  if (typeof key === 'string') return key
  // Whatever does not come out the same again (another spelling of the same bytes, say) is no cursor of ours.
  return encodeCursor(resource, scope, key) === text ? key : 'garbled'
}

function readKey(resource: Resource, scope: string | null, bytes: Buffer): Key | CursorFault {
  let at = 1
  if (scope !== null) {
    const end = at + FINGERPRINT_BYTES
    if (!bytes.subarray(at, end).equals(fingerprint(scope))) return 'of another market'
    at = end
  }
  const key: KeyValue[] = []
  try {
    for (const { type } of resource.key) {
      const [value, next] = readValue(type, bytes, at)
      key.push(value)
      at = next
    }
  } catch (error) {
    if (error instanceof RangeError) return 'garbled'
    throw error
  }
  return at === bytes.length ? key : 'garbled'
}

function writeValue(type: KeyType, value: string | number | bigint | null, at: number): number {
  switch (type) {
    case 'int64':
      return scratch.writeBigInt64BE(BigInt(value!), at)
    case 'uint64':
      return writeVarint(value!, at)
    case 'source':
      return scratch.writeUInt8(Number(value), at)
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
      return type satisfies never
  }
}

function readValue(type: KeyType, bytes: Buffer, at: number): [KeyValue, number] {
  switch (type) {
    case 'int64':
      return [bytes.readBigInt64BE(at), at + 8]
    case 'uint64': {
      const [value, end] = readVarint(bytes, at)
      if (value > MAX_INT64) throw new RangeError('a number that no row can have')
      return [value, end]
    }
    case 'source':
      return [BigInt(bytes.readUInt8(at)), at + 1]
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
      return type satisfies never
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

let lastScope = ''
let lastFingerprint: Buffer = Buffer.alloc(0)

/** The first bytes of SHA-256 of an id; pages ask for the same one row after row. */
function fingerprint(scope: string): Buffer {
  if (scope !== lastScope) {
    lastFingerprint = hash('sha256', scope, 'buffer').subarray(0, FINGERPRINT_BYTES)
    lastScope = scope
  }
  return lastFingerprint
}
