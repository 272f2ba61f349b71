import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countedAddress } from '#service/api/http/client-address'
import { ask } from './fixtures/raw-http.ts'
import { CHECKPOINTS } from './fixtures/sample.ts'
import { serve, storeOf } from './fixtures/service.ts'
import { SAMPLE } from './fixtures/shared.ts'
import { STORE_KINDS } from './fixtures/stores.ts'

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

test('The request rate is limited per address, whatever the port', async (t) => {
  const store = await storeOf(t, STORE_KINDS[0]!, SAMPLE)
  const base = await serve(t, store, { rateLimit: 1, trustProxy: true, cacheBytes: 0 })
  const statusOf = async (address: string) =>
    (await ask(base, `GET ${CHECKPOINTS}?pagination.first=1`, { 'X-Forwarded-For': address })).status
  for (const addresses of [
    (index: number) => `10.0.0.1:${1000 + index}`,
    (index: number) => `[2001:db8::${index + 1}]:${1000 + index}`,
  ]) {
    const began = performance.now()
    let allowed = 0
    while (allowed < 100 && (await statusOf(addresses(allowed))) === 200) allowed++
    // A busy machine may pass the first second, after which one more is allowed.
    assert.ok(
      allowed >= 5 && allowed < 100 && allowed <= 5 + (performance.now() - began) / 1000,
      String(allowed),
    )
  }
  assert.equal(await statusOf('2001:db8:0:1::1'), 200)
})
