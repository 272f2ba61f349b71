type QuotaOptions<Holder> = {
  /** How many slots there are. */
  slots: number
  /** Picks the one of an address's holders that loses its slot; they are in order of arrival. */
  choose?(holders: ReadonlySet<Holder>): Holder
}

/** Accounts for the resources that clients use, by address. */
export class Account {
  readonly #onAlone: (address: string) => void
  #hasReported = false

  /** @param onAlone called once, with the first address that is reported */
  constructor(onAlone: (address: string) => void = () => {}) {
    this.#onAlone = onAlone
  }

  quota<Holder extends object>(options: QuotaOptions<Holder>): Quota<Holder> {
    return new Quota(options, (address) => this.reportAlone(address))
  }

  /** Notes that one address holds all of something and asks for more. */
  reportAlone(address: string): void {
    if (!this.#hasReported) this.#onAlone(address)
    this.#hasReported = true
  }
}

/**
 * A limited number of slots, such as connections, given in order of arrival. Once all are taken, an address that asks
 * for another one takes it from the address with the most, if it would still have fewer. So one address may use every
 * slot without excluding others.
 */
export class Quota<Holder extends object> {
  readonly #slots: number
  readonly #choose: (holders: ReadonlySet<Holder>) => Holder
  readonly #reportAlone: (address: string) => void
  readonly #byAddress = new Map<string, Set<Holder>>()
  readonly #addressOf = new Map<Holder, string>()

  /** @param reportAlone is called with an address that holds all slots and asks for one more */
  constructor(
    { slots, choose = (holders) => holders.values().next().value! }: QuotaOptions<Holder>,
    reportAlone: (address: string) => void,
  ) {
    this.#slots = slots
    this.#choose = choose
    this.#reportAlone = reportAlone
  }

  /**
   * Takes a slot for a holder, until {@link Quota.release}.
   *
   * @returns who gives way, which has no slot any more and is to be ended; null if none must; `refused` if
   *   the newcomer gets no slot
   */
  take(address: string, holder: Holder): Holder | null | 'refused' {
    if (this.#addressOf.size < this.#slots) {
      this.#add(address, holder)
      return null
    }
    const own = this.#byAddress.get(address)?.size ?? 0
    let most: ReadonlySet<Holder> = new Set()
    for (const holders of this.#byAddress.values()) if (holders.size > most.size) most = holders
    if (most.size <= own + 1) {
      if (this.#byAddress.size === 1 && own > 0) this.#reportAlone(address)
      return 'refused'
    }
    const chosen = this.#choose(most)
    this.release(chosen)
    this.#add(address, holder)
    return chosen
  }

  /** Gives a slot back; returns whether the holder had one still. */
  release(holder: Holder): boolean {
    const address = this.#addressOf.get(holder)
    if (address === undefined) return false
    this.#addressOf.delete(holder)
    const holders = this.#byAddress.get(address)!
    holders.delete(holder)
    if (holders.size === 0) this.#byAddress.delete(address)
    return true
  }

  #add(address: string, holder: Holder): void {
    const holders = this.#byAddress.get(address)
    if (holders === undefined) this.#byAddress.set(address, new Set([holder]))
    else holders.add(holder)
    this.#addressOf.set(holder, address)
  }
}
