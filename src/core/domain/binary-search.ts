/** The index of the first item for which a condition holds, which then holds for all that follow; their number if for none. */
export function firstIndexWhere<Item>(items: readonly Item[], holds: (item: Item) => boolean): number {
  let low = 0
  for (let high = items.length; low < high; ) {
    const middle = (low + high) >>> 1
    if (holds(items[middle]!)) high = middle
    else low = middle + 1
  }
  return low
}
