/** Characters of a market's, a party's or a provision's id. */
export const ID_LENGTH = 64

/** A market id: 64 hex digits in any case. */
export const MARKET_ID = /^[0-9a-fA-F]{64}$/

/** A prefix of an id, as typed by people. */
export const ID_PREFIX = /^[0-9a-fA-F]{1,63}$/

/** The id of a party that trades: 64 hex digits in any case. */
export const TRADER_ID = MARKET_ID

/** A party id: 64 hex digits in any case, or the network's own party. */
export const PARTY_ID = /^(?:[0-9a-fA-F]{64}|network)$/

/** The party of the network itself. */
export const NETWORK = 'network'
