import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { delimiter, join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { ROOT } from '../../fixtures/documentation.ts'
import { freePort, openServer } from '../../fixtures/services/port.ts'
import {
  addressOf,
  end,
  type RunningProgram,
  startLyra,
  startProgram,
} from '../../fixtures/services/program.ts'
import { PYTHON, skipsWithoutPython } from '../../fixtures/services/python.ts'
import { skip } from '../../fixtures/shared.ts'
import { temporaryFolder } from '../../fixtures/stores/stores.ts'

/**
 * A service manager: prints each message that it receives, and whether all of the ports named accepted a connection at that moment.
 * A message is a datagram on a Unix socket, which Node does not have.
 */
const MANAGER = `
import socket, sys
server = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
server.bind(sys.argv[1].replace('@', chr(0), 1))
print('bound', flush=True)
def state(port):
    with socket.socket() as client:
        return 'open' if client.connect_ex(('127.0.0.1', int(port))) == 0 else 'closed'
while True:
    message = server.recv(4096).decode()
    if message != 'BARRIER=1':
        print(message, *map(state, sys.argv[2:]), flush=True)
`

/** Starts a manager at the address of a socket; null if the test is skipped. */
async function startManager(
  t: TestContext,
  address: string,
  ports: readonly number[],
): Promise<RunningProgram | null> {
  if (skipsWithoutPython(t)) return null
  if (spawnSync('systemd-notify', ['--version']).status !== 0) {
    skip(t, 'systemd-notify is not installed')
    return null
  }
  const manager = startProgram(t, PYTHON, ['-c', MANAGER, address, ...ports.map(String)])
  await manager.printed('bound')
  return manager
}

/** A folder with a program named `systemd-notify`, as the only one on the path. */
function folderWithNotify(t: TestContext, script: string): string {
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, 'systemd-notify'), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  return folder
}

describe('A service manager', { skip: process.platform !== 'linux' && 'systemd is of Linux' }, () => {
  test('learns that serve is ready once all of its ports accept connections, and that it stops', async (t) => {
    const folder = temporaryFolder(t)
    const [http, grpc, core] = [await freePort(), await freePort(), await freePort()]
    const address = join(folder, 'notify')
    const manager = await startManager(t, address, [http, grpc, core])
    if (manager === null) return
    const ports = `--port ${http} --grpc 127.0.0.1:${grpc} --listen 127.0.0.1:${core}`
    const log = join(folder, 'log')
    const service = startLyra(t, `serve --store ${join(folder, 'a.db')} --event-log ${log} ${ports}`, {
      env: { NOTIFY_SOCKET: address },
    })
    await manager.printed('READY=1')
    await end(service)
    await manager.printed('STOPPING=1')
    assert.match(manager.output.stdout, /^bound\nREADY=1 open open open\nSTOPPING=1 .*\n$/)
    assert.doesNotMatch(service.output.stderr, /systemd-notify/)
  })

  test('learns the same of receive, on a socket without a file', async (t) => {
    const port = await freePort()
    const address = `@lyra-test-${process.pid}`
    const manager = await startManager(t, address, [port])
    if (manager === null) return
    const log = join(temporaryFolder(t), 'log')
    const receiver = startLyra(t, `receive --listen 127.0.0.1:${port} --event-log ${log}`, {
      env: { NOTIFY_SOCKET: address },
    })
    await manager.printed('READY=1')
    await end(receiver)
    await manager.printed('STOPPING=1')
    assert.match(manager.output.stdout, /^bound\nREADY=1 open\nSTOPPING=1 .*\n$/)
  })

  test('learns of forward that it runs', async (t) => {
    const address = join(temporaryFolder(t), 'notify')
    const manager = await startManager(t, address, [])
    if (manager === null) return
    const log = join(temporaryFolder(t), 'log')
    const forwarder = startLyra(t, `forward 127.0.0.1:1 --follow ${log}`, { env: { NOTIFY_SOCKET: address } })
    await manager.printed('READY=1')
    await end(forwarder)
    await manager.printed('STOPPING=1')
  })

  test('is not told that a service is ready whose port is in use', async (t) => {
    const said = join(temporaryFolder(t), 'said')
    const path = folderWithNotify(t, `echo "$@" >> ${said}`)
    const [, port] = (await openServer(t, createServer())).split(':')
    const service = startLyra(t, `serve --store ${join(path, 'a.db')} --port ${port} --keep 1d`, {
      env: { NOTIFY_SOCKET: '/nowhere', PATH: `${path}${delimiter}${process.env.PATH}` },
    })
    const { code } = await service.outcome
    assert.equal(code, 1)
    await t.waitFor(() => assert.equal(readFileSync(said, 'utf8'), 'STOPPING=1\n'))
  })

  test('that cannot be told is a warning, once', async (t) => {
    for (const [path, warning] of [
      [temporaryFolder(t), 'systemd-notify: not installed; the service manager'],
      [folderWithNotify(t, 'echo No such socket >&2; exit 1'), 'systemd-notify: No such socket; the service'],
      [folderWithNotify(t, 'exit 3'), 'systemd-notify: ended with 3; the service'],
    ] as const) {
      const service = startLyra(t, `serve --port 0 --store ${join(path, 'a.db')}`, {
        env: { NOTIFY_SOCKET: '/nowhere', PATH: path },
      })
      await addressOf(service)
      await service.printed(warning)
      await end(service)
      assert.equal(service.output.stderr.match(/systemd-notify/g)!.length, 1)
    }
  })

  test('is told nothing by a service that it does not supervise', async (t) => {
    const said = join(temporaryFolder(t), 'said')
    const path = folderWithNotify(t, `echo "$@" >> ${said}`)
    const service = startLyra(t, `serve --port 0 --store ${join(path, 'a.db')}`, {
      env: { NOTIFY_SOCKET: '', PATH: `${path}${delimiter}${process.env.PATH}` },
    })
    await addressOf(service)
    await end(service)
    assert.throws(() => readFileSync(said), /ENOENT/)
  })
})

describe('The units of systemd', () => {
  const units = ['lyra.service', 'lyra-receive.service', 'lyra-reader@.service']

  test('wait for what the program tells them, and accept it from the program that it starts', () => {
    for (const unit of units) {
      const text = readFileSync(join(ROOT, 'deploy', unit), 'utf8')
      assert.match(text, /^Type=notify$/m, unit)
      assert.match(text, /^NotifyAccess=all$/m, unit)
      // systemd-notify speaks on a Unix socket.
      assert.match(text, /^RestrictAddressFamilies=.*\bAF_UNIX\b/m, unit)
    }
  })

  test('are valid', (t) => {
    const { status, error } = spawnSync('systemd-analyze', ['--version'])
    if (error !== undefined || status !== 0) return skip(t, 'systemd-analyze is not installed')
    const folder = temporaryFolder(t)
    // It leaves files in the folder of the system, or with --user in that of the user.
    const env = { ...process.env, XDG_RUNTIME_DIR: folder }
    for (const unit of units) {
      const text = readFileSync(join(ROOT, 'deploy', unit), 'utf8')
      const instance = unit.replace('@', '@3109')
      writeFileSync(join(folder, instance), text.replace('/usr/bin/lyra', '/bin/true'))
      const file = join(folder, instance)
      const args = ['--user', 'verify', '--man=no', file]
      const verified = spawnSync('systemd-analyze', args, { env, encoding: 'utf8' })
      assert.equal(verified.status, 0, verified.stderr)
      // What it says of the machine's own units is no matter.
      assert.doesNotMatch(verified.stderr, new RegExp(instance), unit)
    }
  })
})
