import { Counter, collectDefaultMetrics, Gauge, type Metric, Registry } from 'prom-client'
import { DurationHistogram } from './duration-histogram.ts'

/** Metrics of Node that enumerate all connections on each scrape: 20 ms with 5,000 of them. */
const OF_EACH_CONNECTION = ['handles', 'requests', 'resources'].flatMap((of) => [
  `nodejs_active_${of}`,
  `nodejs_active_${of}_total`,
])

/** The figures of a service, in Prometheus' terms, to which each feature adds its own. */
export type Metrics = {
  /** Adds a gauge; `collect` sets it whenever figures are asked for. */
  gauge<Label extends string = never>(
    name: string,
    help: string,
    labelNames?: readonly Label[],
    collect?: (gauge: Gauge<Label>) => void | Promise<void>,
  ): Gauge<Label>
  counter<Label extends string = never>(
    name: string,
    help: string,
    labelNames?: readonly Label[],
  ): Counter<Label>
  /** Adds a counter of a number that only rises; `read` gives it whenever figures are asked for. */
  tally(name: string, help: string, read: () => number): void
  /** Adds a histogram; the function returned counts a duration in seconds, with a value for each label. */
  durations(
    name: string,
    help: string,
    labelNames: readonly string[],
  ): (seconds: number, ...labels: string[]) => void
  /** All figures, in the text format of `contentType`. */
  text(): Promise<string>
  contentType: string
}

/** A registry of its own, with the figures of the process. */
export function createMetrics(): Metrics {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  for (const name of OF_EACH_CONNECTION) registry.removeSingleMetric(name)
  return {
    gauge: (name, help, labelNames = [], collect = () => {}) =>
      new Gauge({
        name,
        help,
        labelNames,
        registers,
        collect() {
          return collect(this)
        },
      }),
    counter: (name, help, labelNames = []) => new Counter({ name, help, labelNames, registers }),
    tally: (name, help, read) => {
      const counter = new Counter({ name, help, registers, collect: () => show(read()) })
      const show = rising((by) => counter.inc(by))
    },
    durations: (name, help, labelNames) => {
      const histogram = new DurationHistogram(name, help, labelNames)
      registry.registerMetric(histogram as unknown as Metric)
      return (seconds, ...labels) => histogram.observe(seconds, labels)
    },
    text: () => registry.metrics(),
    contentType: registry.contentType,
  }
}

/** A figure of a state: its name without `lyra_`, its help text, and its value. */
export type Figure<State> = [name: string, help: string, measure: (state: State) => number]

/**
 * Adds a counter for each figure of a state that only rises, `lyra_NAME_total`; the function returned shows a state. One
 * that is lower than before counts from 0 again.
 */
export function stateCounters<State>(
  metrics: Metrics,
  figures: readonly Figure<State>[],
): (state: State) => void {
  const shows = figures.map(([name, help]) => {
    const counter = metrics.counter(`lyra_${name}_total`, help)
    return rising((by) => counter.inc(by))
  })
  return (state) => {
    for (const [index, [, , measure]] of figures.entries()) shows[index]!(measure(state))
  }
}

/** Shows a value that only rises by what it has risen; one that is lower than before counts from 0 again. */
export function rising(add: (by: number) => void): (value: number) => void {
  let shown = 0
  return (value) => {
    add(value < shown ? value : value - shown)
    shown = value
  }
}

/** Adds a gauge for each figure of a state; the function returned shows a state. */
export function stateGauges<State>(
  metrics: Metrics,
  figures: readonly Figure<State>[],
): (state: State) => void {
  const gauges = figures.map(([name, help]) => metrics.gauge(`lyra_${name}`, help))
  return (state) => {
    for (const [index, [, , measure]] of figures.entries()) gauges[index]!.set(measure(state))
  }
}
