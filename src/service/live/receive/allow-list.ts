// Which addresses may connect as a core, by `--listen-from`.
import { BlockList, isIP } from 'node:net'

/** Whether an address, in the socket's form, may connect. */
export type AllowList = (address: string) => boolean

/**
 * Addresses and networks that may connect, each `10.0.0.7`, `10.0.0.0/8`, `fd00::/8`; none: all may.
 *
 * @throws {RangeError} for a text that is neither, with the text.
 */
export function createAllowList(networks: readonly string[]): AllowList {
  const list = new BlockList()
  for (const network of networks) {
    const [address, prefix, ...rest] = network.split('/')
    const version = isIP(address!)
    const bits = version === 6 ? 128 : 32
    const isPrefix = prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits)
    if (version === 0 || !isPrefix || rest.length > 0) throw new RangeError(network)
    list.addSubnet(address!, Number(prefix ?? bits), version === 6 ? 'ipv6' : 'ipv4')
  }
  return (address) => {
    if (networks.length === 0) return true
    // A socket that listens on `::` names IPv4 peers in IPv6 notation; a link-local address has a zone.
    const plain = address.replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/, '')
    return list.check(plain, isIP(plain) === 6 ? 'ipv6' : 'ipv4')
  }
}
