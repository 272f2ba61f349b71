type QuotaOptions<Holder> = {
  /** How many slots there are. */
  slots: number
  /** Picks the one of an address's holders that loses its slot; they are in order of arrival. */
  choose?(holders: ReadonlySet<Holder>): Holder
}

/** Accounts for the resources that clients use, by address. */
export type Account = {
  quota<Holder extends object>(options: QuotaOptions<Holder>): Quota<Holder>
  /** Notes that one address holds all of something and asks for more. */
  reportAlone(address: string): void
}

/** @param onAlone called once, with the first address that is reported */
export function createAccount(onAlone: (address: string) => void = () => {}): Account {
  let hasReported = false
  const reportAlone = (address: string) => {
    if (!hasReported) onAlone(address)
    hasReported = true
  }
  return { quota: (options) => createQuota(options, reportAlone), reportAlone }
}

/**
 * A limited number of slots, such as connections, given in order of arrival. Once all are taken, an address that asks
 * for another one takes it from the address with the most, if it would still have fewer. So one address may use every
 * slot without excluding others.
 */
export type Quota<Holder> = {
  /**
   * Takes a slot for a holder, until {@link Quota.release}.
   *
   * @returns who gives way, which has no slot any more and is to be ended; null if none must; `refused` if
   *   the newcomer gets no slot
   */
  take(address: string, holder: Holder): Holder | null | 'refused'
  /** Gives a slot back; returns whether the holder had one still. */
  release(holder: Holder): boolean
}

function createQuota<Holder extends object>(
  { slots, choose = (holders) => holders.values().next().value! }: QuotaOptions<Holder>,
  reportAlone: (address: string) => void,
): Quota<Holder> {
  const byAddress = new Map<string, Set<Holder>>()
  const addressOf = new Map<Holder, string>()

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
      if (addressOf.size < slots) {
        add(address, holder)
        return null
      }
      const own = byAddress.get(address)?.size ?? 0
      let most: ReadonlySet<Holder> = new Set()
      for (const holders of byAddress.values()) if (holders.size > most.size) most = holders
      if (most.size <= own + 1) {
        if (byAddress.size === 1 && own > 0) reportAlone(address)
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
