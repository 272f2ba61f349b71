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

/** Ids that are not hex digits, by their one-byte code in a data node's tables: those of the network and of some assets. */
export const NAMED_IDS: ReadonlyMap<string, string> = new Map([
  ['00', 'VOTE'],
  ['03', NETWORK],
  ['04', 'XYZalpha'],
  ['05', 'XYZbeta'],
  ['06', 'XYZdelta'],
  ['07', 'XYZepsilon'],
  ['08', 'XYZgamma'],
  ['09', 'fBTC'],
  ['0a', 'fDAI'],
  ['0b', 'fEURO'],
  ['0c', 'fUSDC'],
])

const ASSET_NAMES = [...NAMED_IDS.values()].filter((name) => name !== NETWORK)

/** An asset id: 64 hex digits in any case, or the name of an asset that has no other id. */
export const ASSET_ID = new RegExp(`^(?:[0-9a-fA-F]{64}|${ASSET_NAMES.join('|')})$`)

/** An id of hex digits in lower case; a name is unchanged. */
export function canonicalId(id: string): string {
  return MARKET_ID.test(id) ? id.toLowerCase() : id
}
