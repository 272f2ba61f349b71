import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { EVENT_KIND } from '#core/events/bus-event'
import { EventCheck, type PinnedChain, RefusedEventError } from '#core/log/event-check'
import {
  busEvent,
  cancelledOrders,
  checkpoint,
  content,
  eventsOf,
  type MadeBlock,
} from '../fixtures/events/event-stream.ts'

type Stream = readonly (MadeBlock | Buffer)[]

type Case = {
  stream: Stream
  pinned?: PinnedChain
  /** Whether each event is of another connection. */
  isReconnected?: boolean
  /**
   * For each event `b` (begins a block), `w` (within one), `e` (ends one), `E` (ends one with events missing), `.` (outside) or `x`
   * (refused), after `!` if the open block never ends.
   */
  roles: string
  refused?: RegExp
  chain?: string | null
}

const block = (height: number, rest: Partial<MadeBlock> = {}): MadeBlock => ({
  height,
  events: [checkpoint()],
  ...rest,
})

const event = (id: string, chain?: string) => busEvent({ id, ...checkpoint(), chain }, checkpoint().body)
const upgrade = (height: number) => {
  const { kind, body } = content(EVENT_KIND.protocolUpgradeStarted, { 1: height })
  return busEvent({ id: `${height}-9`, kind }, body)
}
const endOf = (height: number) => content(EVENT_KIND.endBlock, { 1: height })
const ofChain = (id: string) => ({ id, pinnedBy: '--chain is' })

const CASES: Record<string, Case> = {
  'blocks begin, go on and end': { stream: [block(4), block(5)], roles: 'bwebwe', chain: 'test-chain' },
  'events before the first block, between blocks and of other heights are outside': {
    stream: [event('3-2'), block(4), event('4-9'), block(5, { ends: false }), event('4-3'), event('5-3')],
    roles: '.bwe.bw.w',
  },
  'an event that comes again is outside': {
    stream: [block(4, { ends: false }), event('4-2'), event('4-1')],
    roles: 'bw..',
  },
  'a block of which an event is missing ends so': {
    stream: [block(4, { events: [checkpoint(), checkpoint()], without: [2] })],
    roles: 'bwE',
    chain: null,
  },
  'orders take an id each': {
    stream: [block(4, { events: [cancelledOrders(3), checkpoint()] })],
    roles: 'bwwe',
  },
  'a block without an end is dropped by the next one, and by itself': {
    stream: [block(4, { ends: false }), block(5, { ends: false }), block(5)],
    roles: 'bw!bw!bwe',
  },
  'an upgrade is announced between blocks': { stream: [block(4), upgrade(4)], roles: 'bwe.' },
  'an event of another chain is refused within a connection': {
    stream: [block(4, { ends: false }), event('4-3', 'other')],
    roles: 'bwx',
    refused: /an event of chain "other", but the connection began with chain "test-chain"/,
  },
  'without a whole block, a new connection may be of another chain, and the block is dropped': {
    stream: [block(4, { ends: false }), block(4, { chain: 'other' })],
    isReconnected: true,
    roles: 'bw!bwe',
    chain: 'other',
  },
  'after a whole block, no other chain is taken': {
    stream: [block(4), block(5, { chain: 'other', events: [], ends: false })],
    isReconnected: true,
    roles: 'bwex',
    refused: /an event of chain "other", but an earlier block is of chain "test-chain"/,
  },
  'another chain than the required one is refused': {
    stream: [event('4-1')],
    pinned: ofChain('main'),
    roles: 'x',
    refused: /an event of chain "test-chain", but --chain is "main"/,
  },
  'another version is refused': {
    stream: [busEvent({ id: '4-1', ...checkpoint(), version: 2 }, checkpoint().body)],
    roles: 'x',
    refused: /an event of version 2; this program reads version 1/,
  },
  'an id of another form is refused, within a block and outside': {
    stream: [event('four'), block(4, { ends: false }), event('4-x')],
    roles: 'xbwx',
    refused: /its id is "(four|4-x)" and not "<height>-<index in block>"/,
  },
  'a BeginBlock whose id is of another block is refused': {
    stream: [
      Buffer.from(
        eventsOf([block(94)])[0]!
          .toString('latin1')
          .replace('94-1', '30-1'),
        'latin1',
      ),
    ],
    roles: 'x',
    refused: /it begins block 94, but its id is of another one/,
  },
  'an EndBlock with the id of another block is refused': {
    stream: [block(4, { ends: false }), busEvent({ id: '4-3', ...endOf(5) }, endOf(5).body)],
    roles: 'bwx',
    refused: /it ends block 5, but its id is of block 4/,
  },
  'what is no event is refused': {
    stream: [Buffer.alloc(9, 0xff)],
    roles: 'x',
    refused: /^not an event: /,
  },
}

/** What a check says of an event. */
function roleOf(check: EventCheck, bytes: Buffer): { role: string; error: string | null } {
  try {
    const { role, block: checked, dropsBlock } = check.check(bytes, 0, bytes.length)
    const letters = { begin: 'b', within: 'w', end: checked?.isWhole ? 'e' : 'E', outside: '.' }
    return { role: `${dropsBlock ? '!' : ''}${letters[role]}`, error: null }
  } catch (error) {
    if (!(error instanceof RefusedEventError)) throw error
    check.dropOpenBlock()
    return { role: 'x', error: error.message }
  }
}

describe('What an event is to a log:', () => {
  for (const [
    name,
    { stream, pinned = null, isReconnected = false, roles, refused, chain },
  ] of Object.entries(CASES))
    test(name, () => {
      const check = new EventCheck(pinned)
      const events = stream.flatMap((part) => (Buffer.isBuffer(part) ? [part] : eventsOf([part])))
      const said = events.map((bytes) => {
        if (isReconnected) check.forgetConnectionChain()
        return roleOf(check, bytes)
      })
      assert.equal(said.map(({ role }) => role).join(''), roles)
      for (const { error } of said) if (error !== null) assert.match(error, refused!)
      if (chain !== undefined) assert.equal(check.pinned?.id ?? null, chain)
    })

  test('an upgrade names the last block before it', () => {
    const check = new EventCheck(null)
    const bytes = upgrade(7)
    assert.equal(check.check(bytes, 0, bytes.length).upgradeAfter, 7n)
  })
})
