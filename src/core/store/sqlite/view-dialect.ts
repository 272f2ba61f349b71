import { MOST_VIEW_DECIMALS, type ViewDialect } from '../views/dialect.ts'

const NANOSECONDS = 1_000_000_000

/**
 * An expression with names for others, which are calculated once, however often it uses them: SQLite does not merge a select
 * without a table into another one.
 */
function withNames(names: Readonly<Record<string, string>>, expression: string): string {
  const named = Object.entries(names).map(([name, value]) => `${value} as ${name}`)
  return `(select ${expression} from (select ${named.join(', ')}) as given)`
}

/**
 * A result for a text that is a plain decimal number, and decimals that are allowed; null for others. The result may use
 * `written`, the text, and `places`, the decimals; `unsigned`, the text without its sign; and `digits`, also without its point.
 */
function ofPlainDecimal(text: string, decimals: string, result: string): string {
  const isPlain = `places between -${MOST_VIEW_DECIMALS} and ${MOST_VIEW_DECIMALS}
    and digits <> '' and rtrim(ltrim(digits, '0123456789'), '0123456789') = ''
    and length(written) - length(unsigned) <= 1 and length(unsigned) - length(digits) <= 1`
  const ofDigits = withNames(
    { digits: `replace(unsigned, '.', '')` },
    `case when ${isPlain} then ${result} end`,
  )
  const ofUnsigned = withNames({ unsigned: `ltrim(written, '+-')` }, ofDigits)
  return withNames({ written: text, places: decimals }, ofUnsigned)
}

/** As many zeros as the point may need in another place, and one more: `zeroblob` has two of each byte. */
const ZEROS = `substr(hex(zeroblob(${MOST_VIEW_DECIMALS / 2 + 1})), 1, 1 + max(places, -places))`

/** The digits of a decimal number with zeros around them, and in these the digit before the point. */
const PADDED = {
  padded: `${ZEROS} || digits || ${ZEROS}`,
  point: `1 + max(places, -places) + length(digits) - places
    - case instr(unsigned, '.') when 0 then 0 else length(unsigned) - instr(unsigned, '.') end`,
}

const SIGN = `case when substr(written, 1, 1) = '-' and ltrim(digits, '0') <> '' then '-' else '' end`

/** The padded digits with a point, and without zeros at the ends. */
const POINTED = `rtrim(rtrim(ltrim(substr(padded, 1, point - 1), '0') || substr(padded, point, 1) || '.'
    || substr(padded, point + 1), '0'), '.')`

/**
 * DuckDB parses the views of a file, runs those that it can, and has SQLite run what it understood of the others. As it
 * calculates in another way, each view has a function that it does not know (`zeroblob`, `strftime` of Unix seconds). It does
 * not pass on everything: there is no `glob`, `union` or `true`, no comparison of several columns at once, and no function with
 * a grammar of its own (`trim`).
 */
export const SQLITE_VIEWS: ViewDialect = {
  // Each connection parses all views, which takes 2 ms.
  created: (view, select) =>
    `drop view if exists ${view};\ncreate view ${view} as\n${select.replaceAll(/\n +/g, ' ')};`,
  // Division and remainder round towards zero.
  time: (nanoseconds) => `cast(
    strftime('%Y-%m-%dT%H:%M:%S', ${nanoseconds} / ${NANOSECONDS} - (${nanoseconds} % ${NANOSECONDS} < 0), 'unixepoch')
    || printf('.%09dZ', (${nanoseconds} % ${NANOSECONDS} + ${NANOSECONDS}) % ${NANOSECONDS}) as text)`,
  wholeUnits: (text, decimals) =>
    `cast(${ofPlainDecimal(text, decimals, `${SIGN} || ${withNames(PADDED, POINTED)}`)} as text)`,
  // With an exponent: SQLite reads the number as a whole.
  wholeNumber: (text, decimals) =>
    `cast(${ofPlainDecimal(text, decimals, `written || 'e' || -places`)} as real)`,
  isNotZero: (integer) => `cast(${integer} <> 0 as integer)`,
  jsonText: (json, field) => `json_extract(${json}, '$.${field}')`,
  words: (words, alias) => `json_each('${JSON.stringify(words)}') as ${alias}`,
  joinElements: (list, alias) => `left join json_each(${list}) as ${alias} on 1 = 1`,
}
