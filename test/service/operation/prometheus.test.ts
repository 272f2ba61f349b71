import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { ROOT } from '../../fixtures/documentation.ts'
import { idOf } from '../../fixtures/events/event-stream.ts'
import { getJson } from '../../fixtures/requests/http.ts'
import { freePort } from '../../fixtures/services/port.ts'
import { serve, storeOf } from '../../fixtures/services/service.ts'
import { MONTH, skip } from '../../fixtures/shared.ts'
import { createLiveStore, perpetualMarket, pointAt } from '../../fixtures/stores/live-store.ts'
import { ANY_STORE_KIND, temporaryFolder } from '../../fixtures/stores/stores.ts'
import { until } from '../../fixtures/until.ts'

/* What Prometheus itself says of metrics, alerts and queries of dashboards: Debian's packages and current versions take them. */

const RULES = join(ROOT, 'deploy/prometheus')

/** Whether a program of Prometheus is installed; otherwise the test is skipped. */
function isInstalled(t: TestContext, program: string): boolean {
  if (spawnSync(program, ['--version']).error === undefined) return true
  skip(t, `${program} is not installed`)
  return false
}

describe('The alerts', () => {
  for (const name of ['alerts', 'markets']) {
    test(`of ${name}.yml fire when their tests say so, and not otherwise`, (t) => {
      if (!isInstalled(t, 'promtool')) return
      const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', `${name}.test.yml`], {
        cwd: RULES,
        encoding: 'utf8',
      })
      assert.equal(status, 0, stdout + stderr)
    })

    test(`of ${name}.yml have a test each that fires, and one that does not`, () => {
      const rules = readFileSync(join(RULES, `${name}.yml`), 'utf8')
      const tests = readFileSync(join(RULES, `${name}.test.yml`), 'utf8')
      for (const [, alert] of rules.matchAll(/- alert: (\w+)/g)) {
        assert.match(tests, new RegExp(`alertname: ${alert}\\n.*\\n *exp_alerts`), `${alert} never fires`)
        assert.match(tests, new RegExp(`alertname: ${alert}, eval_time`), `${alert} always fires`)
      }
    })
  }
})

/** An answer of Prometheus' API. */
type Queried<Data> = { status: 'success'; data: Data }

type Vector = { result: { metric: Record<string, string>; value: [number, string] }[] }

/**
 * Runs Prometheus until the test ends, with all rules, on services of which it knows the operator's metrics and those of
 * markets; returns its address once it has asked both.
 */
async function startPrometheus(t: TestContext, services: readonly string[]): Promise<string> {
  const folder = temporaryFolder(t)
  const targets = JSON.stringify(services.map((base) => new URL(base).host))
  const jobs = Object.entries({ lyra: '/metrics', 'lyra-markets': '/metrics/markets' })
  writeFileSync(
    join(folder, 'prometheus.yml'),
    `global: { scrape_interval: 1s, evaluation_interval: 1s }
rule_files: ["${RULES}/alerts.yml", "${RULES}/markets.yml"]
scrape_configs:
${jobs.map(([job, path]) => `  - { job_name: ${job}, metrics_path: ${path}, static_configs: [{ targets: ${targets} }] }`).join('\n')}
`,
  )
  const base = `http://127.0.0.1:${await freePort()}`
  const prometheus = spawn(
    'prometheus',
    [
      `--config.file=${folder}/prometheus.yml`,
      `--storage.tsdb.path=${folder}/data`,
      `--web.listen-address=${new URL(base).host}`,
      '--log.level=error',
    ],
    { stdio: ['ignore', 'inherit', 'inherit'] },
  )
  t.after(() => prometheus.kill('SIGKILL'))
  const isReady = async () => (await fetch(`${base}/-/ready`).catch(() => null))?.ok === true
  await until(isReady, 'Prometheus')
  const haveAnswered = async () => {
    const { result } = await queried(base, 'sum_over_time(up[1m])')
    return (
      result.length === jobs.length * services.length && result.every(({ value }) => Number(value[1]) >= 2)
    )
  }
  await until(haveAnswered, 'two answers of each service')
  return base
}

async function queried(base: string, expression: string): Promise<Vector> {
  const target = `/api/v1/query?query=${encodeURIComponent(expression)}`
  return (await getJson<Queried<Vector>>(base, target)).data
}

/** The queries of a dashboard for all values of its variables, as Grafana writes them; by the titles of their panels. */
function queriesOf(dashboard: string, job: string): [title: string, expression: string][] {
  const { panels } = JSON.parse(readFileSync(join(ROOT, 'deploy/grafana', dashboard), 'utf8')) as {
    panels: { title: string; targets?: { expr: string }[] }[]
  }
  return panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }): [string, string] => [
      title,
      expr
        .replaceAll('$job', job)
        .replaceAll(/\$(?:instance|market|party)\b/g, '.*')
        .replaceAll('$__rate_interval', '1m'),
    ]),
  )
}

/** The queries of a dashboard's variables, each of which depends on the ones before. */
function variablesOf(dashboard: string, job: string): { metric: string; label: string }[] {
  const { templating } = JSON.parse(readFileSync(join(ROOT, 'deploy/grafana', dashboard), 'utf8')) as {
    templating: { list: { definition: string }[] }
  }
  return templating.list.map(({ definition }) => {
    const [, metric, label] = /^label_values\((.*), (\w+)\)$/.exec(definition)!
    return { metric: metric!.replaceAll('$job', job).replaceAll('$market', '.*'), label: label! }
  })
}

test('Prometheus takes the metrics of a service and of markets, the rules, and the queries of the dashboards', async (t) => {
  if (!isInstalled(t, 'prometheus')) return
  const [kind] = ANY_STORE_KIND
  const month = await serve(t, await storeOf(t, kind!, MONTH), { marketMetrics: true })
  const codes = ['"', '\\', 'a\nb', 'a\r\n\tb', '{x="1"} 5', 'é 😀\u2028', '# HELP x', 'SAME', 'SAME']
  const { store, live } = await createLiveStore(t, kind)
  const ids = codes.map((_, index) => idOf(String(index + 1)))
  await live.commit(
    1,
    ids.flatMap((marketId, index) => [
      { ...perpetualMarket(marketId), code: codes[index]! } as ReturnType<typeof perpetualMarket>,
      pointAt(1, { marketId, source: 1 }),
      pointAt(1, { marketId }),
    ]),
  )
  const strange = await serve(t, store, { marketMetrics: true })
  const base = await startPrometheus(t, [month, strange])

  const up = await queried(base, 'up')
  assert.deepEqual(
    up.result.map(({ value }) => value[1]),
    ['1', '1', '1', '1'],
  )
  const { result } = await queried(base, `lyra_market_premium{instance="${new URL(strange).host}"}`)
  const shown = result.map(({ metric }) => [metric.market_id, metric.market] as [string, string])
  assert.deepEqual(
    shown.sort(([a], [b]) => (a < b ? -1 : 1)),
    ids.map((id, index) => [id, codes[index]]),
  )

  for (const [dashboard, job] of [
    ['lyra.json', 'lyra'],
    ['markets.json', 'lyra-markets'],
  ] as const) {
    for (const { metric, label } of variablesOf(dashboard, job)) {
      const target = `/api/v1/label/${label}/values?match[]=${encodeURIComponent(metric)}`
      const { data } = await getJson<Queried<string[]>>(base, target)
      assert.ok(data.length > 0, `${dashboard}: ${label}`)
    }
    const queries = queriesOf(dashboard, job)
    assert.ok(queries.length > 8)
    for (const [title, expression] of queries) {
      const { result } = await queried(base, expression)
      // Of the operator's dashboard many panels are empty without a core.
      if (dashboard === 'markets.json') assert.ok(result.length > 0, `${title} is empty: ${expression}`)
    }
  }

  type Rules = { groups: { rules: { name: string; health: string; state: string; lastError?: string }[] }[] }
  const rulesOf = async () =>
    (await getJson<Queried<Rules>>(base, '/api/v1/rules')).data.groups.flatMap(({ rules }) => rules)
  await until(async () => (await rulesOf()).every(({ health }) => health !== 'unknown'), 'the rules')
  const rules = await rulesOf()
  assert.ok(rules.length > 30)
  for (const { name, health, lastError } of rules) assert.equal(health, 'ok', `${name}: ${lastError}`)
  const isOld = rules.find(({ name }) => name === 'LyraMarketPriceOld')
  assert.notEqual(isOld?.state, 'inactive')
})
