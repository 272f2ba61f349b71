import { NETWORK } from '../../domain/ids.ts'
import type { PartyAmount } from '../party-amounts.ts'

/** A list takes memory in pieces, which double in size up to this one. A payment never spans two pieces. */
const MAX_PIECE_BYTES = 256 * 1024
const FIRST_PIECE_BYTES = 128

/** A payment begins with the number of bytes of its party's id, which is 0 for the network, and of its amount. */
const ID_BYTES = 32
const HEAD_BYTES = 3

/** The first bytes of an id, by which payments are sorted: as many as a number stores exactly. */
const PREFIX_BYTES = 6

/**
 * Payments of parties in the order of their event. They are packed, because an event may have hundreds of thousands, which
 * take six times as much memory as objects.
 */
export class PaymentList implements Iterable<PartyAmount> {
  readonly #pieces: Buffer[] = []
  /** The beginning of each payment: its piece, and the offset in it. */
  readonly #starts: number[] = []
  #used = 0

  static of(payments: Iterable<PartyAmount>): PaymentList {
    const list = new PaymentList()
    for (const payment of payments) list.push(payment)
    return list
  }

  get length(): number {
    return this.#starts.length
  }

  /** Adds a payment. Its party must be valid and in lower case, and its amount a number. */
  push({ partyId, amount }: PartyAmount): void {
    const idBytes = partyId === NETWORK ? 0 : ID_BYTES
    const piece = this.#pieceFor(HEAD_BYTES + idBytes + amount.length)
    const start = this.#used
    this.#starts.push((this.#pieces.length - 1) * MAX_PIECE_BYTES + start)
    piece[start] = idBytes
    piece.writeUInt16LE(amount.length, start + 1)
    if (idBytes > 0) piece.write(partyId, start + HEAD_BYTES, 'hex')
    this.#used = start + HEAD_BYTES + idBytes
    this.#used += piece.write(amount, this.#used, 'latin1')
  }

  at(index: number): PartyAmount {
    const { piece, start, idBytes } = this.#locate(index)
    const amountStart = start + HEAD_BYTES + idBytes
    const amountEnd = amountStart + piece.readUInt16LE(start + 1)
    return {
      partyId: idBytes === 0 ? NETWORK : piece.toString('hex', start + HEAD_BYTES, amountStart),
      amount: piece.toString('latin1', amountStart, amountEnd),
    }
  }

  *[Symbol.iterator](): Generator<PartyAmount> {
    for (let index = 0; index < this.length; index++) yield this.at(index)
  }

  /** The indexes of the payments, sorted by party; those of one party stay in order. */
  orderByParty(): Uint32Array {
    const prefixes = new Float64Array(this.length)
    const order = new Uint32Array(this.length)
    for (let index = 0; index < this.length; index++) {
      const { piece, start, idBytes } = this.#locate(index)
      // In text order, `network` follows all hex digits.
      prefixes[index] =
        idBytes === 0 ? Number.POSITIVE_INFINITY : piece.readUIntBE(start + HEAD_BYTES, PREFIX_BYTES)
      order[index] = index
    }
    return order.sort((a, b) => {
      const [one, other] = [prefixes[a]!, prefixes[b]!]
      if (one !== other) return one < other ? -1 : 1
      return this.#compareParties(a, b) || a - b
    })
  }

  #compareParties(a: number, b: number): number {
    const [one, other] = [this.#locate(a), this.#locate(b)]
    const [oneId, otherId] = [one.start + HEAD_BYTES, other.start + HEAD_BYTES]
    return one.piece.compare(other.piece, otherId, otherId + other.idBytes, oneId, oneId + one.idBytes)
  }

  #locate(index: number): { piece: Buffer; start: number; idBytes: number } {
    const at = this.#starts[index]!
    const piece = this.#pieces[Math.floor(at / MAX_PIECE_BYTES)]!
    const start = at % MAX_PIECE_BYTES
    return { piece, start, idBytes: piece[start]! }
  }

  /** The last piece if it has room for this many bytes, otherwise a new one. */
  #pieceFor(bytes: number): Buffer {
    const last = this.#pieces.at(-1)
    if (last !== undefined && this.#used + bytes <= last.length) return last
    const size = last === undefined ? FIRST_PIECE_BYTES : Math.min(2 * last.length, MAX_PIECE_BYTES)
    const piece = Buffer.allocUnsafe(Math.max(size, bytes))
    this.#pieces.push(piece)
    this.#used = 0
    return piece
  }
}
