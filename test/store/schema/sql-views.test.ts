import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { POSTGRES_SCHEMA } from '#core/store/postgres/schema'
import { POSTGRES_VIEWS } from '#core/store/postgres/view-dialect'
import { SQLITE_VIEWS } from '#core/store/sqlite/view-dialect'
import { VIEW_TYPES } from '#core/store/views/dialect'
import { VIEWS, viewStatements } from '#core/store/views/views'
import { asset, fileOf, marked, perpetual } from '../../fixtures/events/event-stream.ts'
import { storeOfGenerated } from '../../fixtures/events/large-stream.ts'
import { restoreOldStore } from '../../fixtures/old-stores/old-store.ts'
import { serve, storeOf, storeOfBytes, tryIngest } from '../../fixtures/services/service.ts'
import { MONTH, recorded } from '../../fixtures/shared.ts'
import { assertSound } from '../../fixtures/stores/check.ts'
import { describeOn, openStore, runSql, STORE_KINDS, type StoreKind } from '../../fixtures/stores/stores.ts'
import { columnsOf, queryStore, type ViewRow } from '../../fixtures/stores/view-rows.ts'
import { type Node, nodesOf, OF_API } from '../../fixtures/stores/views-of-api.ts'

/** The columns of an amount, a number and a time. */
const amount = (name: string) => [name, `${name}_units`, `${name}_value number`]
const number = (name: string) => [name, `${name}_value number`]
const time = (name: string) => [`${name} time`, `${name}_ns integer`]
const MARKET_COLUMNS = ['market_id', 'market_code']
const ASSET_COLUMNS = ['asset_id', 'asset_symbol']

/** The promise of docs/sql.md: names, and types but for texts. Columns may only be added at the end of a view. */
const PROMISED: Record<string, string[]> = {
  v_checkpoints: ['at_block integer', 'hash', 'block_hash', ...time('timestamp')],
  v_funding_periods: [
    ...MARKET_COLUMNS,
    'seq integer',
    ...time('start_timestamp'),
    ...time('end_timestamp'),
    ...amount('funding_payment'),
    ...number('funding_rate'),
    ...amount('internal_twap'),
    ...amount('external_twap'),
    ...ASSET_COLUMNS,
  ],
  v_funding_points: [
    ...MARKET_COLUMNS,
    'seq integer',
    'source',
    ...time('timestamp'),
    ...amount('price'),
    ...amount('twap'),
    ...ASSET_COLUMNS,
  ],
  v_funding_payments: [
    ...MARKET_COLUMNS,
    'party_id',
    'seq integer',
    ...time('timestamp'),
    ...amount('amount'),
    ...amount('loss_amount'),
    ...ASSET_COLUMNS,
  ],
  v_providers: [
    ...MARKET_COLUMNS,
    'party_id',
    ...number('equity_like_share'),
    ...amount('average_entry_valuation'),
    ...number('average_score'),
    ...amount('virtual_stake'),
    ...number('time_on_book'),
    ...number('last_epoch_time_on_book'),
    ...number('last_epoch_fee_penalty'),
    ...number('last_epoch_bond_penalty'),
    'hysteresis_period_fee_penalties',
    ...amount('required_liquidity'),
    ...amount('notional_volume_buys'),
    ...amount('notional_volume_sells'),
    ...ASSET_COLUMNS,
  ],
  v_provider_history: [
    ...MARKET_COLUMNS,
    'party_id',
    'epoch integer',
    ...time('timestamp'),
    'at_block integer',
    ...number('time_on_book'),
    ...number('fee_penalty'),
    ...number('bond_penalty'),
    ...amount('required_liquidity'),
    ...number('equity_like_share'),
    ...amount('fees_paid'),
    ...ASSET_COLUMNS,
  ],
  v_paid_fees: [
    ...MARKET_COLUMNS,
    ...ASSET_COLUMNS,
    'epoch integer',
    'at_block integer',
    'event_index integer',
    'party_id',
    ...amount('amount'),
    ...amount('total_fees_paid'),
  ],
  v_auctions: [
    ...MARKET_COLUMNS,
    ...time('start_timestamp'),
    ...time('end_timestamp'),
    'opening_auction boolean',
  ],
  v_market_data: [
    ...MARKET_COLUMNS,
    ...time('timestamp'),
    ...amount('mark_price'),
    ...amount('open_interest'),
    'market_state',
    'trading_mode',
    'seq integer',
    ...amount('estimated_funding_payment'),
    ...number('estimated_funding_rate'),
    ...amount('estimated_internal_twap'),
    ...amount('estimated_external_twap'),
    ...ASSET_COLUMNS,
  ],
  v_instruments: [
    ...MARKET_COLUMNS,
    'market_name',
    'product',
    'quote_name',
    'decimal_places integer',
    'position_decimal_places integer',
    'market_state',
    'trading_mode',
    ...ASSET_COLUMNS,
    'asset_name',
    'asset_decimals integer',
    ...number('interest_rate'),
    ...number('clamp_lower_bound'),
    ...number('clamp_upper_bound'),
    ...number('scaling_factor'),
    ...number('rate_lower_bound'),
    ...number('rate_upper_bound'),
    ...time('schedule_initial'),
    'schedule_every_ns integer',
    ...number('sla_price_range'),
    ...number('sla_commitment_min_time_fraction'),
    'sla_performance_hysteresis_epochs integer',
    ...number('sla_competition_factor'),
  ],
  v_epochs: [
    'epoch integer',
    ...time('start_timestamp'),
    ...time('expiry_timestamp'),
    ...time('end_timestamp'),
    'end_block integer',
  ],
  v_gaps: [
    'kind',
    'from_height integer',
    'to_height integer',
    ...time('start_timestamp'),
    ...time('end_timestamp'),
    'lacks',
  ],
}

const NAMES = VIEWS.map(({ name }) => name)

test('The views have the names, columns and types that are promised', () => {
  const described = VIEWS.map(({ name, columns }) => [
    name,
    columns.map((column) => (column.type === 'text' ? column.name : `${column.name} ${column.type}`)),
  ])
  assert.deepEqual(Object.fromEntries(described), PROMISED)
})

test('Views change with a step of the schema, because a store gets new ones by an upgrade', () => {
  const digest = createHash('sha256')
  for (const dialect of [SQLITE_VIEWS, POSTGRES_VIEWS]) digest.update(viewStatements(dialect).join('\n'))
  assert.equal(
    digest.digest('hex').slice(0, 16),
    '1306e46b600c7552',
    'append a step to the schema (it may be a comment), unless the last one is not released; then change this digest',
  )
})

const sorted = (rows: readonly unknown[]) => rows.map((row) => JSON.stringify(row)).sort()

/** A text with digits after a point, without the zeros at its end. */
const withoutZeros = (text: string) => text.replace(/\.0*$|(\.\d*?)0+$/, '$1')

/** A plain decimal number with its point in another place; null for another text. */
function shifted(text: string | null, decimals: bigint | null): string | null {
  const match = /^([+-]?)(?:(\d+)\.?(\d*)|\.(\d+))$/.exec(text ?? '')
  if (match === null || decimals === null || decimals < -100n || decimals > 100n) return null
  const [, sign, whole = '', fraction = match[4] ?? ''] = match
  const places = BigInt(fraction.length) + decimals
  const zeros = '0'.repeat(places < 0n ? Number(-places) : 0)
  const scale = places < 0n ? 0 : Number(places)
  const digits = `${BigInt(whole + fraction + zeros)}`.padStart(scale + 1, '0')
  const point = digits.length - scale
  const units = withoutZeros(`${digits.slice(0, point)}.${digits.slice(point)}`)
  return sign === '-' && /[1-9]/.test(units) ? `-${units}` : units
}

/** A time in Unix nanoseconds as the views of a store write it. */
function writtenTime(kind: StoreKind, nanoseconds: string): string {
  const time = BigInt(nanoseconds)
  const part = ((time % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n
  const iso = new Date(Number((time - part) / 1_000_000n)).toISOString().slice(0, 19)
  const digits = `${part}`.padStart(9, '0')
  if (kind.name === 'sqlite') return `${iso}.${digits}Z`
  return withoutZeros(`${iso.replace('T', ' ')}.${digits.slice(0, 6)}`)
}

/** Checks times, whole units and numbers of a view's rows by the columns beside them. */
function checkCalculated(
  kind: StoreKind,
  rows: readonly ViewRow[],
  decimalsOf: (row: ViewRow, column: string) => bigint | null,
): number {
  let checked = 0
  for (const row of rows) {
    for (const [column, value] of Object.entries(row)) {
      const at = `${column} of ${JSON.stringify(row)}`
      const [, name, suffix] = /^(.*)_(ns|units|value)$/.exec(column) ?? []
      if (name === undefined || row[name] === undefined) continue
      checked++
      if (suffix === 'ns') {
        const written = row[name]
        if (value === null) assert.equal(written, null, at)
        else assert.equal(written!.replace(/\+00$/, ''), writtenTime(kind, value), at)
        continue
      }
      const isAmount = row[`${name}_units`] !== undefined
      const expected = shifted(row[name], isAmount ? decimalsOf(row, name) : 0n)
      if (suffix === 'units') assert.equal(value, expected, at)
      else if (expected === null) assert.equal(value, null, at)
      else if (kind.name === 'sqlite') assert.equal(Number(value), Number(expected), at)
      else assert.equal(value, expected, at)
    }
  }
  return checked
}

/** Event streams whose rows are compared with the API's. */
const STREAMS: Record<string, (t: TestContext, kind: StoreKind) => Promise<string>> = {
  month: (t, kind) => storeOf(t, kind, MONTH),
  'a core with AMMs': (t, kind) => storeOf(t, kind, recorded('amm')),
  'a generated stream': (t, kind) => storeOfGenerated(t, kind, { blocks: 1_500, events: 0 }),
  'events in an unusual order': async (t, kind) => {
    const store = await storeOf(t, kind, MONTH)
    await runSql(
      store,
      // Starts after their ends, starts and ends with other times, and fees after the figures.
      'update epochs set height = 100000 where epoch % 3 = 0',
      'update epochs set expiry_timestamp = null where epoch % 5 = 0',
      'update epoch_ends set start_timestamp = start_timestamp + 1, expiry_timestamp = null where epoch % 2 = 0',
      'update paid_liquidity_fees set height = 100000 where epoch % 2 = 0',
    )
    return store
  },
}

/** Texts that are plain decimal numbers, and others. */
const NUMBERS =
  '0 -0 +0 000 -000.000 1 +1 -1 10 1000000 -1000000 999999 1. .5 -.5 +.25 1.50 -00012.3400 0.000000000000000000000001'.split(
    ' ',
  )
const NO_NUMBERS = [
  ...'. - + --1 +-1 -. 1- 1+2 1.2.3 1e5 1E-3 1e999999 0x10 NaN Infinity -Infinity 1,5 1_000 12a a12 1a2'.split(
    ' ',
  ),
  ...['', ' ', ' 1', '1 ', '1\n', '\n1', "'", '%', '\u0661\u0662', '\u2212 1'],
]

describeOn(STORE_KINDS, 'the views for SQL', (kind) => {
  const typeOf = kind.name === 'sqlite' ? 'sqlite' : 'postgres'

  test('have these columns and types in the database, and no rows in an empty store', async (t) => {
    const store = kind.create(t)
    await openStore(store).migrate()
    for (const { name, columns } of VIEWS) {
      assert.deepEqual(
        await columnsOf(store, name),
        columns.map((column) => [column.name, VIEW_TYPES[column.type][typeOf]]),
        name,
      )
      assert.deepEqual(await queryStore(store, `select * from ${name}`), [], name)
    }
    await assertSound(store)
  })

  for (const [stream, storeOfStream] of Object.entries(STREAMS)) {
    test(`have the rows that the API has, of ${stream}`, async (t) => {
      const store = await storeOfStream(t, kind)
      const base = await serve(t, store)
      const instruments = new Map<string, Node>()
      for (const node of await nodesOf(base, '/api/v2/export/instruments'))
        instruments.set(node.marketId, node)
      const decimalsOf = (row: ViewRow, column: string): bigint | null => {
        const node = instruments.get(row.market_id!)
        if (column === 'mark_price') return node === undefined ? null : BigInt(node.decimalPlaces)
        if (column === 'open_interest') return node === undefined ? null : BigInt(node.positionDecimalPlaces)
        const decimals = node?.settlementAsset?.decimals
        return decimals == null ? null : BigInt(decimals)
      }
      for (const [view, { path, rowsOf }] of Object.entries(OF_API)) {
        const expected = (await nodesOf(base, path)).flatMap(rowsOf)
        const rows = await queryStore(store, `select * from ${view}`)
        const columns = Object.keys(expected[0] ?? {})
        const shown = rows.map((row) =>
          Object.fromEntries(columns.map((column) => [column, row[column] ?? null])),
        )
        if (view === 'v_market_data')
          for (const row of expected) for (const name of columns) row[name] ??= null
        assert.deepEqual(sorted(shown), sorted(expected), view)
        for (const { market_id: id, market_code: code } of rows)
          assert.equal(code ?? undefined, id == null ? undefined : instruments.get(id)?.code, view)
        const checked = checkCalculated(kind, rows, decimalsOf)
        if (stream === 'month') assert.ok(rows.length > 0 && checked >= rows.length, view)
      }
    })
  }

  test('write amounts exactly, whatever their texts, and decimals that nobody expects', async (t) => {
    const long = [
      '9'.repeat(40),
      `-${'9'.repeat(40)}`,
      '1'.repeat(256),
      `-${'7'.repeat(100)}.${'3'.repeat(150)}0`,
    ]
    const texts = [...NUMBERS, ...long, ...NO_NUMBERS]
    const allowed = [0n, 1n, 5n, 6n, 18n, 38n, 99n, 100n, -1n, -2n, -100n]
    const decimals = [...allowed, 101n, -101n, 2n ** 63n - 1n, -(2n ** 63n)]
    const store = await storeOfBytes(t, kind, fileOf({ height: 1, events: [asset(), perpetual()] }))
    const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`
    const rows = decimals.flatMap((_, market) =>
      texts.map((text, seq) => ({ market: `m${market}`, text, seq })),
    )
    await runSql(
      store,
      ...decimals.flatMap((places, at) => [
        `insert into assets (asset_id, name, symbol, decimals, status, height, event_index)
         values ('a${at}', '', 'A${at}', ${places}, 1, 1, 0)`,
        `insert into instruments (market_id, code, name, product, quote_name, decimal_places, position_decimal_places,
           state, trading_mode, settlement_asset, height, event_index)
         values ('m${at}', '', '', 3, '', ${places}, ${places}, 5, 1, 'a${at}', 1, 0)`,
      ]),
      `insert into funding_payments (market_id, party_id, seq, timestamp, amount, loss_amount, height, event_index)
       values ${[...rows, ...texts.map((text, seq) => ({ market: 'none', text, seq }))]
         .map(({ market, text, seq }) => `('${market}', 'p', ${seq}, 0, ${quoted(text)}, '0', 1, 0)`)
         .join(', ')}`,
    )
    const found = await queryStore(
      store,
      'select market_id, seq, amount, amount_units, amount_value from v_funding_payments',
    )
    assert.equal(found.length, (decimals.length + 1) * texts.length)
    const checked = checkCalculated(
      kind,
      found,
      ({ market_id: id }) => decimals[Number(id!.slice(1))] ?? null,
    )
    assert.equal(checked, 2 * found.length)
    const known = found.filter(({ amount_units: units }) => units !== null)
    assert.equal(known.length, allowed.length * (NUMBERS.length + long.length))
    assert.deepEqual(
      found
        .filter(({ market_id: id, seq }) => id === 'm3' && ['10', '20'].includes(seq!))
        .map((row) => row.amount_units),
      ['-1', `-${'9'.repeat(34)}.999999`],
    )
  })

  test('do not fail at texts that are no numbers, states that nobody knows, and times at the ends of 64 bits', async (t) => {
    const store = await storeOf(t, kind, MONTH)
    const extremes = [
      -(2n ** 63n),
      -1_000_000_001n,
      -1n,
      0n,
      1n,
      999n,
      1_000n,
      1_725_148_800_123_456_789n,
      2n ** 63n - 1n,
    ]
    await runSql(
      store,
      ...['price', 'twap'].map((column) => `update funding_period_data_points set ${column} = 'price'`),
      ...['funding_payment', 'funding_rate', 'internal_twap', 'external_twap'].flatMap((column) => [
        `update funding_periods set ${column} = '1e999'`,
        `update market_data set ${column} = '-'`,
      ]),
      `update market_data set mark_price = '', open_interest = 'many', market_state = 99, trading_mode = 99`,
      `update funding_payments set amount = 'NaN', loss_amount = '1e999999'`,
      ...['time_on_book', 'fee_penalty', 'bond_penalty', 'required_liquidity', 'equity_like_share'].map(
        (column) => `update liquidity_provider_history set ${column} = 'Infinity'`,
      ),
      `update paid_liquidity_fees set amount = ''`,
      `update paid_liquidity_fees_stats set total_fees_paid = ' ', fees_paid_per_party = '[{"party":"p","amount":"x"},{}]'`,
      `update liquidity_providers set fee_share = '{"virtualStake":"one","averageScore":7}', sla = '{}'`,
      ...['interest_rate', 'clamp_lower_bound', 'scaling_factor', 'rate_upper_bound'].map(
        (column) => `update instruments set ${column} = 'none'`,
      ),
      `update instruments set product = 99`,
      `delete from checkpoints`,
      `insert into checkpoints (at_block, hash, block_hash, block_timestamp, height, event_index)
       values ${extremes.map((time, at) => `(${at}, '', '', ${time === -(2n ** 63n) ? `${time + 1n} - 1` : time}, 1, ${at})`).join(', ')}`,
    )
    for (const { name, columns } of VIEWS) {
      const rows = await queryStore(store, `select * from ${name}`)
      if (name === 'v_gaps') continue
      assert.ok(rows.length > 0, name)
      if (name === 'v_checkpoints' || name === 'v_instruments') continue
      const numbers = columns.filter(({ type }) => type === 'number').map((column) => column.name)
      for (const row of rows) {
        for (const column of numbers)
          if (column !== 'average_score_value') assert.equal(row[column], null, `${name}.${column}`)
      }
    }
    const [data] = await queryStore(store, 'select market_state, trading_mode from v_market_data')
    assert.deepEqual({ ...data }, { market_state: null, trading_mode: null })
    const times = await queryStore(
      store,
      'select timestamp, timestamp_ns from v_checkpoints order by at_block',
    )
    assert.deepEqual(
      times.map((row) => BigInt(row.timestamp_ns!)),
      extremes,
    )
    assert.equal(
      checkCalculated(kind, times.slice(1, -1), () => null),
      extremes.length - 2,
    )
    assert.match(times[0]!.timestamp!, /^1677-09-21[T ]00:12:43/)
    assert.match(times.at(-1)!.timestamp!, /^2262-04-11[T ]23:47:16/)
  })

  test('list what is missing, incomplete, imported, unknown to an older version, and pruned', async (t) => {
    const store = kind.create(t)
    await tryIngest(store, fileOf(marked(10), marked(11), marked(15)), { allowGap: true })
    const gapsOf = async () =>
      (
        await queryStore(
          store,
          `select kind, from_height, to_height, start_timestamp_ns, end_timestamp_ns, lacks from v_gaps
           order by from_height, kind, lacks`,
        )
      ).map((row) =>
        Object.values(row)
          .map((value) => value ?? '-')
          .join(' '),
      )
    assert.deepEqual(await gapsOf(), ['missing 12 14 11000000000 15000000000 -'])
    await runSql(
      store,
      `insert into gaps (from_height, to_height, kind) values (11, 11, 'incomplete')`,
      `insert into imported (from_height, to_height, lacks) values (10, 10, 'auctions marketData')`,
      `insert into since (resource, height, start_timestamp) values ('epochs', 13, 7), ('checkpoints', 10, null)`,
      `insert into pruned (id, before_timestamp, before_height) values (1, null, 11)`,
    )
    assert.deepEqual(await gapsOf(), [
      'imported 10 10 - - auctions marketData',
      'older 10 12 - 7 epochs',
      'pruned 10 10 - - -',
      'incomplete 11 11 - - -',
      'missing 12 14 11000000000 15000000000 -',
    ])
    await runSql(store, `update pruned set before_timestamp = 5, before_height = null`)
    assert.ok((await gapsOf()).includes('pruned 10 - - 5 -'))
  })

  test('are in an upgraded store as in a new one', async (t) => {
    const [old, made] = [await restoreOldStore(t, kind), kind.create(t)]
    await openStore(old).migrate()
    await openStore(made).migrate()
    if (kind.name === 'citus') await openStore(old).distribute!()
    const READ =
      kind.name === 'sqlite'
        ? `select name, sql from sqlite_schema where type = 'view' order by name`
        : `select viewname as name, definition as sql from pg_views where schemaname = current_schema order by 1`
    const views = await queryStore(old, READ)
    assert.deepEqual(
      views.map(({ name }) => name),
      NAMES.toSorted(),
    )
    assert.deepEqual(views, await queryStore(made, READ))
    const [points] = await queryStore(old, `select count(*) as rows from v_funding_points`)
    assert.ok(Number(points!.rows) > 1_000)
    const older = await queryStore(old, `select lacks from v_gaps where kind = 'older'`)
    assert.ok(older.some(({ lacks }) => lacks === 'fundingPayments'))
    await assertSound(old)
  })

  const noRights = kind.name === 'sqlite'
  test('stay with their rights and the views of others when an upgrade replaces them', {
    skip: noRights,
  }, async (t) => {
    const store = kind.create(t)
    await openStore(store).migrate()
    const role = `analyst_${process.pid}`
    const schema = new URL(store).searchParams.get('schema')!
    t.after(() => runSql(store, `drop owned by ${role}`, `drop role ${role}`))
    await runSql(
      store,
      `create role ${role} login`,
      `grant usage on schema ${schema} to ${role}`,
      `grant select on v_gaps to ${role}`,
      `create view of_others as select party_id, sum(amount_value) from v_funding_payments group by party_id`,
    )
    await runSql(store, ...POSTGRES_SCHEMA.views)
    const analyst = new URL(store)
    analyst.username = role
    assert.deepEqual(await queryStore(analyst.toString(), 'select * from v_gaps'), [])
    await assert.rejects(queryStore(analyst.toString(), 'select * from v_epochs'), /permission denied/)
    await assert.rejects(queryStore(analyst.toString(), 'select * from gaps'), /permission denied/)
    assert.deepEqual(await queryStore(store, 'select * from of_others'), [])
  })

  const noPlans = kind.name !== 'sqlite'
  test('of a market, a party or a range of times are read by the keys of the tables', {
    skip: noPlans,
  }, async (t) => {
    const store = await storeOf(t, kind, MONTH)
    const plans: [sql: string, ...searches: string[]][] = [
      [
        `v_funding_points where market_id = 'm' and source = 'SOURCE_EXTERNAL' and timestamp_ns >= 1 and timestamp_ns < 2`,
        'points USING PRIMARY KEY (market=? AND source=? AND timestamp>? AND timestamp<?)',
      ],
      [
        `v_funding_points where market_id = 'm' and timestamp_ns >= 1`,
        'points USING PRIMARY KEY (market=? AND source=? AND timestamp>?)',
      ],
      [`v_funding_periods where market_id = 'm' and seq = 1`, '(market_id=? AND seq=?)'],
      [`v_funding_payments where party_id = 'p' and timestamp_ns >= 1`, '(party_id=? AND timestamp>?)'],
      [`v_funding_payments where market_id = 'm' and timestamp_ns >= 1`, '(market_id=? AND timestamp>?)'],
      [`v_provider_history where party_id = 'p' and timestamp_ns >= 1`, '(party_id=? AND timestamp>?)'],
      [`v_paid_fees where market_id = 'm'`, 'fees USING PRIMARY KEY (market_id=?)'],
      [`v_providers where market_id = 'm'`, 'liquidity_providers USING PRIMARY KEY (market_id=?)'],
    ]
    for (const [sql, ...searches] of plans) {
      const plan = await queryStore(store, `explain query plan select * from ${sql}`)
      const steps = plan.map(({ detail }) => detail!)
      for (const search of searches)
        assert.ok(
          steps.some((step) => step.includes(search)),
          `${sql}:\n${steps.join('\n')}`,
        )
      // What has no key is a constant, or the JSON of an event.
      const scans = steps.filter((step) =>
        /^SCAN (?!CONSTANT ROW|given|sources VIRTUAL|fee VIRTUAL)/.test(step),
      )
      assert.deepEqual(scans, [], sql)
    }
  })
})
