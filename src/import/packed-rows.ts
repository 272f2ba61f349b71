/** Rows of one slab of memory. */
const SLAB_ROWS = 2 * 1024

/** Characters of a field that are kept: no text that is longer can be kept in a store, and it stays too long for that. */
const MAX_FIELD_LENGTH = 2_000

/** Texts that are held once, and how long they are at most: ids and names come again and again. */
const MAX_SHARED = 16_384
const MAX_SHARED_LENGTH = 128

/** About the memory of a text that is not shared, besides its characters. */
const TEXT_BYTES = 48

/** The cell of an empty text, and of null: where rows are packed neither can be kept. */
const EMPTY = -1

/** Fields of a row that is to be packed. */
export type Fields = {
  /** A whole number written as usual, of at most 15 digits; -1 for any other field. */
  integer(column: number): number
  text(column: number): string | null
}

/**
 * Rows in little memory: 8 bytes for a field. A whole number is held as itself; a text by its place in a list, as a
 * negative number, odd if it is one that rows share.
 */
export class PackedRows {
  readonly #width: number
  readonly #cells: Float64Array[] = []
  /** The number that belongs to each row. */
  readonly #keys: Uint32Array[] = []
  #count = 0
  readonly #shared: string[] = []
  readonly #sharedCells = new Map<string, number>()
  #texts: string[] = []

  /** `width` is the number of fields of a row. */
  constructor(width: number) {
    this.#width = width
  }

  get count(): number {
    return this.#count
  }

  /** Adds a row with a number of up to 32 bits; returns about how many bytes it takes. */
  add(key: number, row: Fields): number {
    const at = this.#count % SLAB_ROWS
    const slab = (this.#count - at) / SLAB_ROWS
    if (slab === this.#cells.length) {
      this.#cells.push(new Float64Array(SLAB_ROWS * this.#width))
      this.#keys.push(new Uint32Array(SLAB_ROWS))
    }
    const cells = this.#cells[slab]!
    let size = this.#rowBytes
    for (let column = 0; column < this.#width; column++) {
      let cell = row.integer(column)
      if (cell < 0) {
        const text = row.text(column) ?? ''
        cell = this.#cellOf(text)
        if (isOwnText(cell)) size += textBytes(text)
      }
      cells[at * this.#width + column] = cell
    }
    this.#keys[slab]![at] = key
    this.#count++
    return size
  }

  /** About how many bytes a row takes that is not added. */
  sizeOf(row: Fields): number {
    let size = this.#rowBytes
    for (let column = 0; column < this.#width; column++) {
      if (row.integer(column) >= 0) continue
      const text = row.text(column) ?? ''
      if (text !== '' && !this.#sharedCells.has(text)) size += textBytes(text)
    }
    return size
  }

  key(index: number): number {
    const at = index % SLAB_ROWS
    return this.#keys[(index - at) / SLAB_ROWS]![at]!
  }

  /** The texts of a row. */
  row(index: number): string[] {
    const at = index % SLAB_ROWS
    const cells = this.#cells[(index - at) / SLAB_ROWS]!
    const fields: string[] = new Array(this.#width)
    for (let column = 0; column < this.#width; column++) {
      const cell = cells[at * this.#width + column]!
      if (cell >= 0) fields[column] = String(cell)
      else if (cell === EMPTY) fields[column] = ''
      else fields[column] = isOwnText(cell) ? this.#texts[-cell / 2 - 1]! : this.#shared[(-cell - 3) / 2]!
    }
    return fields
  }

  /** Drops the rows whose number is not below a bound. */
  keepBelow(bound: number): void {
    const texts: string[] = []
    let kept = 0
    for (let index = 0; index < this.#count; index++) {
      const key = this.key(index)
      if (key >= bound) continue
      const from = index % SLAB_ROWS
      const to = kept % SLAB_ROWS
      const source = this.#cells[(index - from) / SLAB_ROWS]!
      const target = this.#cells[(kept - to) / SLAB_ROWS]!
      for (let column = 0; column < this.#width; column++) {
        const cell = source[from * this.#width + column]!
        target[to * this.#width + column] = isOwnText(cell)
          ? -2 * texts.push(this.#texts[-cell / 2 - 1]!)
          : cell
      }
      this.#keys[(kept - to) / SLAB_ROWS]![to] = key
      kept++
    }
    this.#count = kept
    this.#texts = texts
  }

  clear(): void {
    this.keepBelow(0)
  }

  get #rowBytes(): number {
    return 8 * this.#width + 4
  }

  #cellOf(text: string): number {
    if (text === '') return EMPTY
    const known = this.#sharedCells.get(text)
    if (known !== undefined) return known
    // A copy: the text itself is a part of a larger one, which it would keep.
    const copy = Buffer.from(text.slice(0, MAX_FIELD_LENGTH)).toString()
    if (text.length > MAX_SHARED_LENGTH || this.#shared.length === MAX_SHARED)
      return -2 * this.#texts.push(copy)
    const cell = -1 - 2 * this.#shared.push(copy)
    this.#sharedCells.set(copy, cell)
    return cell
  }
}

function isOwnText(cell: number): boolean {
  return cell < EMPTY && cell % 2 === 0
}

function textBytes(text: string): number {
  return TEXT_BYTES + Math.min(text.length, MAX_FIELD_LENGTH)
}
