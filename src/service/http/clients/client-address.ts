import type { IncomingMessage } from 'node:http'
import { isIPv4, isIPv6, type Socket } from 'node:net'

/** Longest text that is not an address: a proxy's placeholder for an unnamed client. */
const MAX_OTHER_TEXT = 100

/**
 * The address by which a client is counted, for rates and for quotas: that of its connection, or, behind a trusted proxy, the
 * last one of `X-Forwarded-For`, which that proxy has added. See {@link countedAddress}.
 */
export function clientAddress({ headers, socket }: IncomingMessage, trustProxy: boolean): string {
  return forwardedAddress(trustProxy ? headers['x-forwarded-for'] : undefined, socket)
}

/** The same from the header itself, if a trusted proxy has set one. */
export function forwardedAddress(
  forwarded: string | string[] | Buffer | undefined,
  socket: Pick<Socket, 'remoteAddress'> | undefined,
): string {
  const seen = forwarded?.toString().split(',').at(-1)?.trim()
  return countedAddress(seen || (socket?.remoteAddress ?? ''))
}

/**
 * An address without its port, in one spelling. An IPv6 address becomes its network of 64 bits (`2001:db8:0:1::/64`), since
 * one client has all of that; an IPv4 address in the form of IPv6 becomes the IPv4 address. A text that is not an address is
 * only cut.
 */
export function countedAddress(text: string): string {
  if (isIPv4(text)) return text
  const address = withoutPort(text)
  if (isIPv4(address)) return address
  const plain = address.replace(/%.*$/s, '')
  if (!isIPv6(plain)) return text.slice(0, MAX_OTHER_TEXT)
  const groups = groupsOf(plain)
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff
  if (isMapped) return [groups[6]! >> 8, groups[6]! & 0xff, groups[7]! >> 8, groups[7]! & 0xff].join('.')
  const network = groups.slice(0, 4).map((group) => group.toString(16))
  return `${network.join(':')}::/64`
}

/** The address in `1.2.3.4:567`, `[::1]:567` or `[::1]`. */
function withoutPort(text: string): string {
  if (text.startsWith('[')) {
    const end = text.indexOf(']')
    return end !== -1 && isPort(text.slice(end + 1)) ? text.slice(1, end) : text
  }
  const colon = text.indexOf(':')
  // Several colons without brackets are an IPv6 address, whose last group is not a port.
  return colon !== -1 && isPort(text.slice(colon)) ? text.slice(0, colon) : text
}

function isPort(text: string): boolean {
  return text === '' || /^:\d{1,5}$/.test(text)
}

/** The eight groups of a valid IPv6 address. */
function groupsOf(address: string): number[] {
  const [head = '', tail] = address.split('::')
  const before = groupsIn(head)
  if (tail === undefined) return before
  const after = groupsIn(tail)
  return [...before, ...Array.from({ length: 8 - before.length - after.length }, () => 0), ...after]
}

function groupsIn(text: string): number[] {
  if (text === '') return []
  return text.split(':').flatMap((part) => {
    if (!part.includes('.')) return [Number.parseInt(part, 16)]
    const [a = 0, b = 0, c = 0, d = 0] = part.split('.').map(Number)
    return [a * 256 + b, c * 256 + d]
  })
}
