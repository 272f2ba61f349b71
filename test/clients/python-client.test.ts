import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { PROGRAM_VERSION } from '#service/version'
import { SAMPLE_MARKET } from '../../scripts/sample.ts'
import { documentedPages, ROOT } from '../fixtures/documentation.ts'
import { HOSTILE, serveHostile } from '../fixtures/faults/hostile-server.ts'
import { getPage } from '../fixtures/requests/http.ts'
import { freePort, serveWith } from '../fixtures/services/port.ts'
import { ended, startProgram } from '../fixtures/services/program.ts'
import { CLIENT_PATH, PYTHON, skipsWithoutPython, startPython } from '../fixtures/services/python.ts'
import { serveFile } from '../fixtures/services/service.ts'
import { CHECKPOINTS, MONTH } from '../fixtures/shared.ts'
import { STORE_KINDS, temporaryFolder } from '../fixtures/stores/stores.ts'

const PROGRAMS = join(import.meta.dirname, 'python')
const PACKAGE = join(ROOT, 'python')
/** A provider of the sample, which has also made funding payments. */
const PROVIDER = 'b0e93493657ad9e47faa4099bedadd421aecc3bc31f27750d926e4e93e185fe6'
const ENV = { PYTHONPATH: CLIENT_PATH }

/** Runs a program of test/clients/python to its end; returns what it prints as JSON. */
async function run(t: TestContext, name: string, ...args: string[]): Promise<unknown> {
  const { stdout } = await ended(startProgram(t, PYTHON, [join(PROGRAMS, name), ...args], { env: ENV }))
  return JSON.parse(stdout)
}

/** Runs a Python program to its end; returns its lines. */
async function linesOf(t: TestContext, program: string): Promise<string[]> {
  const { stdout } = await ended(startPython(t, program))
  return stdout.trim().split('\n')
}

describe('the Python client', () => {
  for (const kind of STORE_KINDS) {
    test(`reads lists, pages, exports and streams of every resource as REST answers them (${kind.name})`, async (t) => {
      if (skipsWithoutPython(t, 'httpx')) return
      const base = await serveFile(kind, MONTH)
      const counts = (await run(t, 'compare_lists.py', base, SAMPLE_MARKET, PROVIDER)) as Record<
        string,
        number
      >
      assert.equal(Object.keys(counts).length, 11)
      for (const [name, count] of Object.entries(counts)) assert.ok(count > 0, name)
    })

    test(`gives exports as files and frames, whose amounts and times are exact (${kind.name})`, async (t) => {
      if (skipsWithoutPython(t, 'httpx', 'pandas', 'pyarrow', 'polars')) return
      const { expected, pandas, polars, types, height } = (await run(
        t,
        'read_frames.py',
        await serveFile(kind, MONTH),
      )) as Record<string, unknown>
      assert.deepEqual([pandas, polars], [expected, expected])
      assert.equal((expected as { rows: number }).rows, 4301)
      assert.deepEqual(types, {
        pandas: ['decimal128(38, 0)[pyarrow]', 'timestamp[ns, tz=UTC][pyarrow]'],
        polars: ['Decimal(precision=38, scale=0)', "Datetime(time_unit='ns', time_zone='UTC')"],
        text: 'String',
      })
      assert.equal(height, '2975')
    })
  }

  test("reports errors with the service's reason, and wrong arguments before any request", async (t) => {
    if (skipsWithoutPython(t, 'httpx')) return
    const base = await serveFile(STORE_KINDS[0]!, MONTH)
    const lines = await linesOf(
      t,
      `from datetime import datetime
from lyra_client import Client, LyraApiError, LyraConnectionError
lyra = Client("${base}")
gone = Client("http://127.0.0.1:${await freePort()}", retries=1, longest_wait=0.01)
for call in [
    lambda: lyra.liquidity_providers_page(),
    lambda: lyra.funding_leaders(),
    lambda: next(lyra.follow("liquidity_providers")),
    lambda: list(lyra.export_rows("checkpoints", after="?")),
    lambda: lyra.funding_periods(),
    lambda: lyra.funding_periods(market_id="a", sequence=1),
    lambda: lyra.follow("checkpoints", market_id="a"),
    lambda: lyra.follow("periods"),
    lambda: lyra.export_rows("market_summaries"),
    lambda: lyra.export("epochs", "epochs.txt"),
    lambda: lyra.funding_periods(market_id="a", start=datetime(2024, 9, 1)),
    lambda: Client("127.0.0.1:3008"),
    lambda: gone.health(),
]:
    try:
        print(call())
    except LyraApiError as error:
        print(error.status, error.code, [one["code"] for one in error.details], bool(error.request_id), error)
    except Exception as error:
        print(type(error).__name__, error)
`,
    )
    const expected = [
      /^400 3 \[10015\] True 400: InvalidArgument error \(marketId or partyId or both must be provided\)$/,
      /^400 3 \[\] True 400: give either marketId or assetId/,
      /^400 3 \[10015\] True/,
      /^400 3 \[10028\] True/,
      /^TypeError funding_periods: market_id must be given, as a text$/,
      /^TypeError funding_periods: unknown filter or option 'sequence'; filters: market_id, start, end$/,
      /^TypeError checkpoints: unknown filter or option 'market_id'; filters: none$/,
      /^TypeError unknown resource 'periods'; there are: auctions, /,
      /^TypeError market_summaries: there is no export of these$/,
      /^ValueError 'epochs.txt' does not end in .ndjson, .csv or .parquet/,
      /^ValueError datetime.datetime\(2024, 9, 1, 0, 0\) has no time zone/,
      /^ValueError '127.0.0.1:3008' is not an http or https URL/,
      /^LyraConnectionError http:\/\/127.0.0.1:\d+\/health: .*refused/,
    ]
    assert.equal(lines.length, expected.length, lines.join('\n'))
    for (const [index, pattern] of expected.entries()) assert.match(lines[index]!, pattern)
  })

  test('converts times and amounts exactly', async (t) => {
    if (skipsWithoutPython(t, 'httpx')) return
    const lines = await linesOf(
      t,
      `from datetime import UTC, datetime, timedelta, timezone
from lyra_client import missing_in, to_datetime, to_nanoseconds, to_smallest_units, to_whole_units
print(to_datetime("1696500903000000999"), to_datetime(-1))
print(to_nanoseconds(datetime(2024, 9, 1, 2, 0, 0, 1, tzinfo=timezone(timedelta(hours=2)))))
digits = "1234567890" * 5
print(to_whole_units(digits, "5") * 0 == 0, to_whole_units(digits, "5"), to_whole_units("-1E+3", 2))
print(to_smallest_units("29470.93", 5), to_smallest_units(3, 2), to_smallest_units("0.5", 0))
blocks = {"gaps": [{"from": "5", "to": "6", "kind": "missing", "start": "50", "end": "70"}],
          "imported": [{"from": "1", "to": "2", "lacks": ["epochs"]}, {"from": "3", "to": "3"}]}
coverage = {"blocks": blocks, "since": [{"resource": "epochs", "height": "4", "start": "40"}]}
for resource, start, end in [("epochs", None, None), ("epochs", "60", None), ("auctions", 70, 80), ("auctions", None, "60")]:
    found = missing_in(coverage, resource, start, end)
    print([one["from"] for one in found.missing], found.since)
`,
    )
    assert.deepEqual(lines, [
      '2023-10-05 10:15:03+00:00 1969-12-31 23:59:59.999999+00:00',
      '1725148800000001000',
      'True 123456789012345678901234567890123456789012345.67890 -10',
      '2947093000 300 0.5',
      "['1', '5'] {'height': '4', 'start': '40'}",
      "['1', '5'] None",
      '[] None',
      "['5'] None",
    ])
  })

  test('retries what may pass, and waits as long as is asked for, or longest_wait', async (t) => {
    if (skipsWithoutPython(t, 'httpx')) return
    const answers: [status: number, headers?: Record<string, string>][] = [
      [503, { 'Retry-After': '7' }],
      [429, { 'Retry-After': '99999' }],
      [502],
      [504, { 'Retry-After': new Date(Date.now() + 60_000).toUTCString() }],
      [200],
      [500],
    ]
    const base = await serveWith(t, (_, response) => {
      const [status, headers = {}] = answers.shift()!
      response.writeHead(status, headers).end('{"status":"ok"}')
    })
    const lines = await linesOf(
      t,
      `import time
from lyra_client import Client, LyraApiError, LyraConnectionError
waits = []
time.sleep = waits.append
lyra = Client("${base}")
print(lyra.health(), [wait >= least for wait, least in zip(waits, [7, 60, 0.4, 30])], max(waits) < 62)
try:
    lyra.health()
except LyraApiError as error:
    print(error.status, error.code, error.message)
for longest in [{}, {"longest_wait": 10}, {"longest_wait": 0.01}]:
    waits.clear()
    try:
        Client("http://127.0.0.1:${await freePort()}", retries=9, **longest).health()
    except LyraConnectionError:
        most = longest.get("longest_wait", 2)
        print(len(waits), most / 2 <= max(waits) <= most)
`,
    )
    assert.deepEqual(lines, [
      "{'status': 'ok'} [True, True, True, True] True",
      '500 None {"status":"ok"}',
      '9 True',
      '9 True',
      '9 True',
    ])
  })

  test('reads an answer of several gzip members whole', async (t) => {
    if (skipsWithoutPython(t, 'httpx')) return
    const base = await serveWith(t, (_, response) => {
      response.writeHead(200, { 'Content-Encoding': 'gzip' })
      for (const row of ['a', 'b']) response.write(gzipSync(`{"hash":"${row}","cursor":"${row}"}\n`))
      response.end()
    })
    const program = `from lyra_client import Client
print([cursor for _, cursor in Client("${base}").export_rows("checkpoints")])`
    assert.deepEqual(await linesOf(t, program), ["['a', 'b']"])
  })

  test('has a connection for each stream, however many there are', async (t) => {
    if (skipsWithoutPython(t, 'httpx')) return
    const base = await serveWith(t, (request, response) => {
      if (!request.url!.includes('stream')) return response.end('{"status":"ok"}')
      response.writeHead(200, { 'Content-Type': 'text/event-stream' })
      return response.write('event: checkpoints\ndata: {"atBlock":"9"}\n\n')
    })
    const program = `from lyra_client import Client
lyra = Client("${base}", retries=0, timeout=5)
streams = [lyra.follow("checkpoints") for _ in range(120)]
print(sum(int(next(stream)["atBlock"]) for stream in streams), lyra.health())`
    assert.deepEqual(await linesOf(t, program), ["1080 {'status': 'ok'}"])
  })

  test('resumes a stream after the last whole event, waits as it is asked to, and takes rows by their name', async (t) => {
    if (skipsWithoutPython(t, 'httpx')) return
    const row = (id: number) => `id: ${id}\nevent: checkpoints\ndata: {"row":${id}}\n\n`
    const position = (id: number) => `id: ${id}\nevent: position\ndata: []\n\n`
    const answers = [
      503,
      `\ufeffretry: 1500\r\n${position(1)}: \r${row(2)}id: 3\nevent: checkpoints\ndata: {"row":3}\n`,
      `${row(3)}event: others\ndata: {"row":0}\n\nevent: checkpoints\n\nevent: dropped\ndata: {"code":8}\n\n`,
      `${position(4)}id: 5\n\n`,
      'event: checkpoints\ndata: {"row":\ndata: 6}\n\n',
      502,
      row(7),
    ]
    const asked: string[] = []
    const base = await serveWith(t, (request, response) => {
      asked.push(request.url!)
      const answer = answers[asked.length - 1]
      if (answer === undefined) response.writeHead(400).end()
      else if (typeof answer === 'number')
        response.writeHead(answer, answer === 503 ? { 'Retry-After': '7' } : {}).end()
      else {
        // The second answer is cut off within an event.
        response.writeHead(200, { 'Content-Type': 'text/event-stream' })
        response.write(answer, () => (asked.length === 2 ? response.destroy() : response.end()))
      }
    })
    const lines = await linesOf(
      t,
      `from lyra_client import Client, LyraApiError
stream = Client("${base}").follow("checkpoints", after_block=9)
waits = []
stream._closed.wait = waits.append
try:
    for row in stream:
        print(row["row"], stream.position)
except LyraApiError as error:
    print(error.status, [round(wait) if wait > 2 else wait for wait in waits])
print(next(stream, None) if stream.close() is None else None)
`,
    )
    assert.deepEqual(lines.slice(0, 4), ['2 2', '3 3', '6 5', '7 7'])
    assert.match(lines[4]!, /^400 \[7, 1\.5, 1\.5, 1\.5, 1\.5, 1\.5, 1\.5\]$/)
    assert.equal(lines[5], 'None')
    const path = '/api/v2/stream/checkpoints'
    assert.deepEqual(asked, [
      ...[9, 9].map((block) => `${path}?afterBlock=${block}`),
      ...[2, 3, 5, 5, 5, 7].map((id) => `${path}?after=${id}`),
    ])
  })

  test('leaves a connection of a stream on which nothing arrives for too long', async (t) => {
    if (skipsWithoutPython(t, 'httpx')) return
    let asked = 0
    const base = await serveWith(t, (_, response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' })
      response.write(++asked < 3 ? 'id: 1\n\n' : 'event: checkpoints\ndata: {"atBlock":"9"}\n\n')
    })
    const program = `from lyra_client import Client, streams
streams._SILENCE = 0.2
with Client("${base}", longest_wait=0.1).follow("checkpoints") as stream:
    print(next(stream)["atBlock"], stream.position)`
    assert.deepEqual(await linesOf(t, program), ['9 1'])
    assert.equal(asked, 3)
  })

  test('continues a stream in another process, and ends one that another thread closes', async (t) => {
    if (skipsWithoutPython(t, 'httpx')) return
    const base = await serveFile(STORE_KINDS[0]!, MONTH)
    const follow = (after: string) =>
      linesOf(
        t,
        `import itertools, threading, time
from lyra_client import Client
with Client("${base}") as lyra, lyra.follow("checkpoints", after=${after}, after_block=2900) as stream:
    for row in itertools.islice(stream, 2):
        print(row["atBlock"])
    print(stream.position)
    waiting = lyra.follow("checkpoints")
    threading.Timer(0.5, waiting.close).start()
    begin = time.monotonic()
    print(list(waiting), time.monotonic() - begin < 3)
`,
      )
    const first = await follow('None')
    const second = await follow(`"${first[2]}"`)
    const page = await getPage(base, CHECKPOINTS, 'pagination.newestFirst=false&pagination.first=5000')
    const stored = page.edges
      .map(({ node }) => node.atBlock as string)
      .filter((height) => Number(height) > 2900)
    assert.deepEqual([...first.slice(0, 2), ...second.slice(0, 2)], stored.slice(0, 4))
    assert.deepEqual([first[3], second[3]], ['[] True', '[] True'])
  })
})

/** Answers as those of {@link HOSTILE}, to requests that other clients do not make, or that they cannot tell. */
const ONLY_PYTHON = {
  'page/twice': {
    head: 'HTTP/1.1 200 OK\r\nContent-Encoding: gzip, gzip\r\n\r\n',
    expected: /^LyraAnswerError: .* compressed as 'gzip, gzip'$/,
  },
  'export/cut': {
    head: 'HTTP/1.1 200 OK\r\nX-Block-Height: 1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\na,b\r\n',
    expected: /^LyraConnectionError/,
  },
  'export/login': {
    head: 'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>',
    expected: /^LyraAnswerError: .*'text\/html', no export/,
  },
}

test('the Python client ends with a clear error, and little memory, whatever a server sends', async (t) => {
  if (skipsWithoutPython(t, 'httpx')) return
  const base = await serveHostile(t, ONLY_PYTHON)
  const hostile = { ...HOSTILE, ...ONLY_PYTHON }
  const { errors, memory } = (await run(t, 'meet_hostile.py', base, ...Object.keys(hostile))) as {
    errors: Record<string, string>
    memory: number
  }
  for (const [path, { expected }] of Object.entries(hostile)) assert.match(errors[path]!, expected, path)
  assert.match(errors['rows/cut']!, /; to go on, pass after='c1'$/)
  t.diagnostic(`${memory.toFixed(0)} MiB`)
  assert.ok(memory < 64, `${memory} MiB`)
})

/** The oldest and the newest Python that the package names. */
const VERSIONS = [
  ...readFileSync(join(PACKAGE, 'pyproject.toml'), 'utf8').matchAll(/Python :: (3\.\d+)/g),
].map(([, version]) => version!)

/** A program that uses the package as it is meant, and one in which each line from the third on is a mistake. */
const TYPED = `from lyra_client import Client, to_whole_units
from lyra_client.resources import FundingPeriod
lyra = Client("")
rates: list[str] = [period["fundingRate"] for period in lyra.funding_periods(market_id="a") if "fundingRate" in period]
for row in lyra.follow("funding_periods", market_id="a"):
    seen: FundingPeriod = row
for checkpoint, cursor in lyra.export_rows("checkpoints"):
    heights: tuple[str, str] = (checkpoint["atBlock"], cursor)
net: list[str] = [market["net"] for market in lyra.party_funding("a", interval="1M")["partyFunding"]["markets"]]
print(to_whole_units(net[0], "5"), lyra.coverage()["blocks"]["gaps"][0]["from"])
`
const MISTAKES = `from lyra_client import Client
lyra = Client("")
lyra.funding_periods()
lyra.funding_periods(market_id=1)
lyra.checkpoints(market_id="a")
lyra.follow("nothing")
lyra.follow("checkpoints", market_id="a")
next(lyra.follow("checkpoints"))["seq"]
lyra.party_funding("a", interval="1y")
lyra.export("market_summaries", "a.csv")
lyra.series("a", sauce="b")
`

for (const version of VERSIONS) {
  test(`the Python package and its examples are typed for Python ${version}, and refuse wrong calls`, async (t) => {
    if (skipsWithoutPython(t, 'httpx', 'mypy')) return
    assert.equal(VERSIONS.length, 2)
    const folder = temporaryFolder(t)
    for (const [name, program] of Object.entries({ 'typed.py': TYPED, 'mistakes.py': MISTAKES }))
      writeFileSync(join(folder, name), program)
    const check = (...files: string[]) => {
      const options = [
        '--config-file',
        'pyproject.toml',
        '--python-version',
        version,
        '--cache-dir',
        join(folder, 'cache'),
      ]
      return startProgram(t, PYTHON, ['-m', 'mypy', ...options, ...files], { cwd: PACKAGE }).outcome
    }
    const examples = readdirSync(join(PACKAGE, 'examples')).map((name) => join('examples', name))
    for (const files of [[], ...examples.map((one) => [one]), [join(folder, 'typed.py')]]) {
      const { code, stdout } = await check(...files)
      assert.equal(code, 0, stdout)
    }
    const { stdout } = await check(join(folder, 'mistakes.py'))
    const lines = new Set([...stdout.matchAll(/mistakes\.py:(\d+): error/g)].map(([, line]) => Number(line)))
    assert.deepEqual(
      [...lines],
      Array.from({ length: 9 }, (_, index) => index + 3),
      stdout,
    )
  })
}

describe('the Python package', () => {
  test('has the version and the licence of the program', () => {
    const project = readFileSync(join(PACKAGE, 'pyproject.toml'), 'utf8')
    assert.equal(/^version = "(.*)"$/m.exec(project)![1], PROGRAM_VERSION)
    assert.equal(readFileSync(join(PACKAGE, 'LICENSE'), 'utf8'), readFileSync(join(ROOT, 'LICENSE'), 'utf8'))
  })

  test('is built as a wheel with types and licence', async (t) => {
    if (skipsWithoutPython(t, 'hatchling')) return
    const folder = temporaryFolder(t)
    const options = [
      '--no-deps',
      '--no-build-isolation',
      '--disable-pip-version-check',
      '--quiet',
      '--wheel-dir',
    ]
    await ended(startProgram(t, PYTHON, ['-m', 'pip', 'wheel', ...options, folder, PACKAGE]))
    const [wheel] = readdirSync(folder)
    assert.equal(wheel, `lyra_client-${PROGRAM_VERSION}-py3-none-any.whl`)
    const list = ['-m', 'zipfile', '--list', join(folder, wheel)]
    const names = spawnSync(PYTHON, list, { encoding: 'utf8' }).stdout
    const sources = readdirSync(join(PACKAGE, 'src/lyra_client')).filter((name) => /\.py$|typed$/.test(name))
    assert.ok(sources.includes('py.typed') && sources.includes('resources.py'))
    for (const name of sources) assert.ok(names.includes(`lyra_client/${name} `), name)
    assert.match(names, /dist-info\/licenses\/LICENSE /)
  })

  test('has examples that run: one resumes where it ended', async (t) => {
    if (skipsWithoutPython(t, 'httpx')) return
    const base = await serveFile(STORE_KINDS[0]!, MONTH)
    const example = async (name: string, ...args: string[]) =>
      (await ended(startProgram(t, PYTHON, [join(PACKAGE, 'examples', name), ...args], { env: ENV }))).stdout
    assert.match(
      await example('walk_funding_points.py', base),
      /^SOURCE_EXTERNAL: \d+ points, TWAP \d+ at first, \d+ at last\nSOURCE_INTERNAL: \d+ points, .*\n$/,
    )
    const file = join(temporaryFolder(t), 'position.txt')
    const follow = (to: string, count: number) =>
      example('follow_funding_points.py', base, SAMPLE_MARKET, to, String(count))
    const parts = [await follow(file, 5), await follow(file, 5)]
    assert.equal(parts.join(''), await follow(`${file}2`, 10))
    assert.equal(parts.join('').trim().split('\n').length, 10)
  })

  test('shows frames in its README that the program gives', async (t) => {
    if (skipsWithoutPython(t, 'httpx', 'pandas', 'pyarrow', 'polars')) return
    const base = await serveFile(STORE_KINDS[0]!, MONTH)
    const { blocks } = documentedPages().find(({ path }) => path === 'python/README.md')!
    const [first] = blocks.filter(({ language }) => language === 'python')
    const frames = blocks.find(({ text }) => text.includes('to_pandas'))!
    const program = `${first!.text}\n${frames.text}\nimport os, sys\nsys.stdout.flush()\nos._exit(0)`
    const { stdout } = await ended(startPython(t, program.replaceAll('http://127.0.0.1:3008', base)))
    assert.match(stdout, /fundingRate/)
    assert.match(stdout, /partyId/)
  })
})
