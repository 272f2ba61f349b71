/** Missing requirements of tests by the reason of the skip, and how to get them. */
const REMEDIES: [reason: RegExp, remedy: string][] = [
  [/PostgreSQL/, 'install PostgreSQL 15 or later, and set LYRA_TEST_STORE=all'],
  [/Chromium/, 'install Chromium; LYRA_CHROMIUM may name it'],
  [
    /Python|python3|pynng|DuckDB/,
    'LYRA_PYTHON names a Python with duckdb, pynng, grpcio and grpcio-reflection',
  ],
  [/schemathesis/, 'LYRA_SCHEMATHESIS names schemathesis 4'],
  [/module for Go/, '(cd test/clients/streams/go && go mod download)'],
  [/LYRA_GENERATORS/, 'test/clients/generated/install FOLDER; LYRA_GENERATORS names the folder'],
  [
    /LYRA_DUCKDB_PYTHON/,
    'LYRA_DUCKDB_PYTHON names a Python with duckdb 1 and its extensions, which .ci/run names',
  ],
  [/nginx|curl|^Go |^R |^man |^gpg |systemd|^kubectl /, 'install it'],
  [/LYRA_KUBERNETES_VALIDATE/, 'LYRA_KUBERNETES_VALIDATE names kubernetes-validate, which .ci/run installs'],
  [/packages/, 'npm run packages'],
  [/file system/, 'run the tests as root'],
  [
    /recording|perps-|^no |answers of the reference/,
    'data that this repository may not hold; LYRA_SHARED names their folder',
  ],
]

/**
 * Skipped tests and how to run them, in lines for people; empty if there are none.
 *
 * @param reasons one for each test that was skipped
 * @param isOnPostgres whether the suites ran on PostgreSQL
 * @param areNamed whether only files that were named ran, which run on SQLite by default
 */
export function describeSkipped(
  reasons: readonly string[],
  { isOnPostgres, areNamed }: { isOnPostgres: boolean; areNamed: boolean },
): string {
  const byRemedy = Map.groupBy(
    reasons,
    (reason) => REMEDIES.find(([pattern]) => pattern.test(reason))?.[1] ?? '',
  )
  const lines = [...byRemedy].map(([remedy, own]) => {
    const count = own.length === 1 ? '1 test' : `${own.length} tests`
    const why = [...new Set(own)].join('; ')
    return `  ${count}: ${why}${remedy === '' ? '' : `\n    ${remedy}`}`
  })
  if (!isOnPostgres) {
    const remedy = areNamed ? 'set LYRA_TEST_STORE=all; it needs' : 'install'
    lines.push(`  the suites on PostgreSQL\n    ${remedy} PostgreSQL 15 or later`)
  }
  return lines.length === 0 ? '' : ['Not run here:', ...lines].join('\n')
}
