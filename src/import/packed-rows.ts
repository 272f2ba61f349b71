/** Memory is taken in slabs of this size; no row is larger. */
const SLAB_BYTES = 1024 * 1024

/** Characters of a field that are kept: no text that is longer can be kept in a store, and it stays too long for that. */
const MAX_FIELD_LENGTH = 2_000

/** Ids that are packed as numbers: more than there are markets and parties with provisions on any network. */
const MAX_IDS = 65_536

/**
 * Rows in little memory: the texts of each together as bytes, ids that come again and again (bytea, `\x` and hex digits)
 * as numbers. Null is packed as the empty text: where rows are packed neither can be kept.
 */
export class PackedRows {
  readonly #slabs: Buffer[] = []
  readonly #numbers = new Map<string, string>()
  readonly #ids: string[] = []
  /** Slabs in use, and bytes used of the last one. */
  #used = 0
  #end = SLAB_BYTES
  /** By row: in which slab it is and where it ends there; it begins where the one before ended. */
  #places = new Uint32Array(1024)
  #sizes = new Uint16Array(1024)
  /** The number that belongs to each row. */
  #keys = new Uint32Array(1024)
  #count = 0

  get count(): number {
    return this.#count
  }

  /** Adds a row with a number of up to 32 bits; returns about how many bytes it takes. */
  add(key: number, row: readonly (string | null)[]): number {
    const text = this.#pack(row)
    // At most three bytes a character.
    if (this.#end + text.length * 3 > SLAB_BYTES) this.#nextSlab()
    const size = this.#slabs[this.#used - 1]!.write(text, this.#end, 'utf8')
    if (this.#count === this.#keys.length) this.#grow()
    this.#keys[this.#count] = key
    this.#places[this.#count] = (this.#used - 1) * SLAB_BYTES + this.#end
    this.#sizes[this.#count] = size
    this.#count++
    this.#end += size
    return size + 10
  }

  /** About how many bytes a row takes that is not added. */
  sizeOf(row: readonly (string | null)[]): number {
    const idSize = this.#ids.length < MAX_IDS ? 6 : 66
    let size = 10 + row.length
    for (const field of row) {
      if (field !== null) size += field.length === 66 ? idSize : Math.min(field.length, MAX_FIELD_LENGTH)
    }
    return size
  }

  key(index: number): number {
    return this.#keys[index]!
  }

  /** The texts of a row. */
  row(index: number): string[] {
    const place = this.#places[index]!
    const start = place % SLAB_BYTES
    const slab = this.#slabs[(place - start) / SLAB_BYTES]!
    const fields = slab.toString('utf8', start, start + this.#sizes[index]!).split('\0')
    for (let at = 0; at < fields.length; at++) {
      const field = fields[at]!
      if (field.charCodeAt(0) === 0x01) fields[at] = this.#ids[Number(field.slice(1))]!
    }
    return fields
  }

  /** Drops the rows whose number is not below a bound. */
  keepBelow(bound: number): void {
    let kept = 0
    let used = 0
    let end = SLAB_BYTES
    for (let index = 0; index < this.#count; index++) {
      if (this.#keys[index]! >= bound) continue
      const place = this.#places[index]!
      const size = this.#sizes[index]!
      if (end + size > SLAB_BYTES) {
        used++
        end = 0
      }
      // Rows only move towards the beginning: what they overwrite has moved before.
      const from = place % SLAB_BYTES
      this.#slabs[(place - from) / SLAB_BYTES]!.copy(this.#slabs[used - 1]!, end, from, from + size)
      this.#keys[kept] = this.#keys[index]!
      this.#places[kept] = (used - 1) * SLAB_BYTES + end
      this.#sizes[kept] = size
      kept++
      end += size
    }
    this.#count = kept
    this.#used = used
    this.#end = end
  }

  clear(): void {
    this.#count = 0
    this.#used = 0
    this.#end = SLAB_BYTES
  }

  #pack(row: readonly (string | null)[]): string {
    let text = ''
    for (let at = 0; at < row.length; at++) {
      const field = row[at] ?? ''
      if (at > 0) text += '\0'
      if (field.length === 66 && field.startsWith('\\x')) text += this.#numberOf(field)
      else if (field.charCodeAt(0) === 0x01) text += `?${field.slice(1, MAX_FIELD_LENGTH)}`
      else text += field.length > MAX_FIELD_LENGTH ? field.slice(0, MAX_FIELD_LENGTH) : field
    }
    return text
  }

  #numberOf(id: string): string {
    const known = this.#numbers.get(id)
    if (known !== undefined) return known
    if (this.#ids.length === MAX_IDS) return id
    // A copy: the text itself is a part of a larger one, which it would keep.
    const copy = Buffer.from(id).toString()
    const number = `\x01${this.#ids.length}`
    this.#ids.push(copy)
    this.#numbers.set(copy, number)
    return number
  }

  #nextSlab(): void {
    if (this.#used === this.#slabs.length) this.#slabs.push(Buffer.allocUnsafeSlow(SLAB_BYTES))
    this.#used++
    this.#end = 0
  }

  #grow(): void {
    const larger = <T extends Uint32Array | Uint16Array>(old: T, made: T): T => {
      made.set(old)
      return made
    }
    const length = this.#keys.length * 2
    this.#keys = larger(this.#keys, new Uint32Array(length))
    this.#places = larger(this.#places, new Uint32Array(length))
    this.#sizes = larger(this.#sizes, new Uint16Array(length))
  }
}
