/** A range of times, Unix nanoseconds: `from` inclusive, `to` exclusive. */
export type Range = { from: bigint; to: bigint }

/** At most as many tiles of a width fit into a range; one more where it begins within one. */
const MAX_TILES = 6n

/**
 * The tiles that cover a range. Their width is a power of two (nanoseconds) and they begin at multiples of it, so
 * that moving the range a little asks for few new ones, and zooming comes back to those asked for before.
 */
export function tilesOf({ from, to }: Range): Range[] {
  let width = 1n
  while ((to - from) / width >= MAX_TILES) width *= 2n
  const tiles: Range[] = []
  for (let start = floorTo(from, width); start < to; start += width) {
    tiles.push({ from: start, to: start + width })
  }
  return tiles
}

/** A tile cut into equal parts. */
export function partsOf({ from, to }: Range, count: number): Range[] {
  const ends = Array.from(
    { length: count + 1 },
    (_, index) => from + ((to - from) * BigInt(index)) / BigInt(count),
  )
  return ends.slice(1).flatMap((end, index) => (end > ends[index]! ? [{ from: ends[index]!, to: end }] : []))
}

function floorTo(value: bigint, step: bigint): bigint {
  const rest = value % step
  return value - (rest < 0n ? rest + step : rest)
}
