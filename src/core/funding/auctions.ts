/**
 * Times at which a market was in auction, as sent to its perpetual: Unix nanoseconds, all of whole seconds. Neither
 * prices nor time in an auction count towards a TWAP (docs/twap.md, "Auctions").
 */
export type Auctions = {
  /** Ended auctions, oldest first; no two are adjacent. */
  closed: { start: bigint; end: bigint }[]
  /** The start of the auction in progress; null if there is none. */
  open: bigint | null
}

/** No auction, neither ended nor in progress. */
export function noAuctions(): Auctions {
  return { closed: [], open: null }
}

/**
 * Records that an auction began at `time`. An auction that begins in the second in which the last one ended continues it.
 * Returns null during an auction, when it is ignored: an extension is sent like a beginning.
 */
export function enterAuction(auctions: Auctions, time: bigint): 'began' | 'continued' | null {
  if (auctions.open !== null) return null
  const last = auctions.closed.at(-1)
  if (last?.end === time) {
    auctions.closed.pop()
    auctions.open = last.start
    return 'continued'
  }
  auctions.open = time
  return 'began'
}

/**
 * Records that the auction in progress ended at `time`. An auction that ends in the second in which it began is not recorded:
 * it is gone. Returns null if none is in progress.
 */
export function leaveAuction(auctions: Auctions, time: bigint): 'ended' | 'gone' | null {
  const start = auctions.open
  if (start === null) return null
  auctions.open = null
  if (start >= time) return 'gone'
  auctions.closed.push({ start, end: time })
  return 'ended'
}

/** Forgets ended auctions, as happens with a new period. An auction in progress keeps its start. */
export function forgetClosedAuctions(auctions: Auctions): void {
  auctions.closed = []
}

/** Whether an auction contains `time`. It does not contain the second in which it ended. */
export function inAuction(auctions: Auctions, time: bigint): boolean {
  if (auctions.open !== null && auctions.open <= time) return true
  return auctions.closed.some((auction) => auction.start <= time && time < auction.end)
}

/** The nanoseconds from `from` to `to` outside all auctions known so far. `from` must not exceed `to`. */
export function timeOutsideAuctions(auctions: Auctions, from: bigint, to: bigint): bigint {
  return timesOutsideAuctions(auctions)(from, to)
}

/** The same for many spans, sorted by start, in linear time. */
export function timesOutsideAuctions({ closed, open }: Auctions): (from: bigint, to: bigint) => bigint {
  let next = 0
  return (from, to) => {
    while (next < closed.length && closed[next]!.end <= from) next++
    let outside = to - from
    for (let i = next; i < closed.length && closed[i]!.start < to; i++) {
      outside -= overlap(from, to, closed[i]!.start, closed[i]!.end)
    }
    return open === null ? outside : outside - overlap(from, to, open, to)
  }
}

function overlap(from: bigint, to: bigint, start: bigint, end: bigint): bigint {
  const left = from > start ? from : start
  const right = to < end ? to : end
  return right > left ? right - left : 0n
}
