/** What {@link Shares} are of. */
export type SharesOptions<Holder> = {
  /** How many places there are. */
  places: number
  /** Which of an address's holders gives way, of those given, the first to come first. */
  choose?(holders: ReadonlySet<Holder>): Holder
  /** Called once, where one address holds all of them and asks for more. */
  onAlone?(address: string): void
}

/**
 * Places of which there is a limited number, such as connections: the first to come have them, however many. Once
 * all are taken, an address that comes for another one and would still hold fewer than the address that holds most
 * gets one of that one's. So one address alone may hold them all without keeping others out.
 */
export type Shares<Holder> = {
  /**
   * Takes a place for a holder, until {@link Shares.release}.
   *
   * @returns who gives way, which has no place any more and is to be ended; null where none must; `refused` where
   *   the newcomer gets no place
   */
  take(address: string, holder: Holder): Holder | null | 'refused'
  /** Gives a place back; returns whether the holder had one still. */
  release(holder: Holder): boolean
}

export function createShares<Holder extends object>(options: SharesOptions<Holder>): Shares<Holder> {
  const { places, choose = (holders) => holders.values().next().value!, onAlone } = options
  const byAddress = new Map<string, Set<Holder>>()
  const addressOf = new Map<Holder, string>()
  let hasReportedAlone = false

  function release(holder: Holder): boolean {
    const address = addressOf.get(holder)
    if (address === undefined) return false
    addressOf.delete(holder)
    const holders = byAddress.get(address)!
    holders.delete(holder)
    if (holders.size === 0) byAddress.delete(address)
    return true
  }

  function add(address: string, holder: Holder): void {
    const holders = byAddress.get(address)
    if (holders === undefined) byAddress.set(address, new Set([holder]))
    else holders.add(holder)
    addressOf.set(holder, address)
  }

  return {
    take: (address, holder) => {
      if (addressOf.size < places) {
        add(address, holder)
        return null
      }
      const own = byAddress.get(address)?.size ?? 0
      let most: ReadonlySet<Holder> = new Set()
      for (const holders of byAddress.values()) if (holders.size > most.size) most = holders
      if (most.size <= own + 1) {
        if (byAddress.size === 1 && own > 0 && !hasReportedAlone) {
          hasReportedAlone = true
          onAlone?.(address)
        }
        return 'refused'
      }
      const chosen = choose(most)
      release(chosen)
      add(address, holder)
      return chosen
    },
    release,
  }
}
