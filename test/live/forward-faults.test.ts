import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConnectionError } from '#service/live/forward/dial-pair'
import { ForwardFaults } from '#service/live/forward/forward-faults'
import { MissingBlockError } from '#service/live/forward/forward-progress'
import { assertSays } from '../fixtures/assert-says.ts'
import { capturedLog } from '../fixtures/services/service.ts'

const log = (name: string, fault: string | null = null) => ({ name, fault })

test('that no log can be read is a fault until one can be, and is logged once', () => {
  const { logger, lines } = capturedLog('info')
  const faults = new ForwardFaults(logger, '127.0.0.1:1')
  faults.nameUnreadable([log('a'), log('b', 'EACCES')])
  assert.equal(faults.failure, null)
  for (let look = 0; look < 3; look++) faults.nameUnreadable([log('a', 'EACCES'), log('b', 'EACCES')])
  assertSays(faults.failure!, 'the event log cannot be read')
  assert.equal(lines.filter((line) => line.includes('a: the event log cannot be read (EACCES)')).length, 1)
  // No block need be read: the core may be idle.
  faults.nameUnreadable([log('a'), log('b')])
  assert.equal(faults.failure, null)
  faults.cannotRead(new Error('broken'))
  faults.nameUnreadable([log('a'), log('b')])
  assertSays(faults.failure!, 'the event log cannot be read')
  faults.readBlock()
  assert.equal(faults.failure, null)
})

test('a segment that is deleted while it is read is no fault, and ends one', () => {
  const { logger, lines } = capturedLog('warn')
  const faults = new ForwardFaults(logger, '127.0.0.1:1')
  const gone = Object.assign(new Error('no such file'), { code: 'ENOENT' })
  faults.cannotRead(gone)
  assert.deepEqual([faults.failure, lines], [null, []])
  faults.cannotRead(Object.assign(new Error('broken'), { code: 'EIO' }))
  assert.notEqual(faults.failure, null)
  faults.cannotRead(gone)
  assert.equal(faults.failure, null)
})

test('a block that is missing in the logs is no fault of the receiver', () => {
  const { logger } = capturedLog('info')
  const faults = new ForwardFaults(logger, '127.0.0.1:1')
  faults.disconnected(new ConnectionError('the receiver has closed it'))
  assertSays(faults.failure!, 'the receiver is unreachable')
  faults.disconnected(new MissingBlockError('block 5 is missing; the next connection begins after it'))
  assertSays(faults.failure!, 'a block is missing in the event log')
  faults.connected()
  assert.equal(faults.failure, null)
})
