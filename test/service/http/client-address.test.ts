import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countedAddress } from '#service/http/clients/client-address'

test('An address counts without its port, IPv6 by its /64 network, mapped IPv4 as IPv4', () => {
  for (const [text, expected] of [
    ['1.2.3.4', '1.2.3.4'],
    ['1.2.3.4:567', '1.2.3.4'],
    ['::ffff:1.2.3.4', '1.2.3.4'],
    ['::FFFF:0102:0304', '1.2.3.4'],
    ['[::ffff:1.2.3.4]:567', '1.2.3.4'],
    ['::1', '0:0:0:0::/64'],
    ['[::1]', '0:0:0:0::/64'],
    ['[::1]:567', '0:0:0:0::/64'],
    ['2001:db8:0:1::1', '2001:db8:0:1::/64'],
    ['2001:0DB8:0000:0001:ffff:ffff:ffff:ffff', '2001:db8:0:1::/64'],
    ['2001:db8:0:2::1', '2001:db8:0:2::/64'],
    ['[2001:db8:0:1::5]:443', '2001:db8:0:1::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['1:2:3:4:5:6:7.8.9.10', '1:2:3:4::/64'],
    ['', ''],
    ['unknown', 'unknown'],
    ['_hidden:80', '_hidden:80'],
    ['1.2.3.4:', '1.2.3.4:'],
    ['1.2.3.4:123456', '1.2.3.4:123456'],
    ['[::1]x', '[::1]x'],
    ['1.2.3', '1.2.3'],
    ['x'.repeat(10_000), 'x'.repeat(100)],
  ] as const) {
    assert.equal(countedAddress(text), expected, text)
  }
})
