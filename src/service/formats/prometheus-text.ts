/** The content type of {@link gaugesText}: Prometheus' text format, as `/metrics` has it. */
export const PROMETHEUS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** A gauge: its description, on one line, and its series, by their labels ({@link labelsText}). */
export type Gauge = {
  name: string
  help: string
  series: readonly (readonly [labels: string, value: number])[]
}

/** Gauges in Prometheus' text format, the values as the shortest decimals that give the same double. */
export function gaugesText(gauges: readonly Gauge[]): string {
  const lines = gauges.flatMap(({ name, help, series }) => [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} gauge`,
    ...series.map(([labels, value]) => `${name}${labels} ${value}`),
  ])
  return lines.map((line) => `${line}\n`).join('')
}

const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '"': '\\"', '\n': '\\n' }

/** The labels of a series in Prometheus' text format; the values may be any text. */
export function labelsText(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(
    ([name, value]) => `${name}="${value.replaceAll(/[\\"\n]/g, (character) => ESCAPES[character]!)}"`,
  )
  return `{${pairs.join(',')}}`
}
