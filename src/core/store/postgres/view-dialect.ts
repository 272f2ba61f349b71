import { MOST_VIEW_DECIMALS, type ViewDialect } from '../views/dialect.ts'

/** A plain decimal number: `numeric` would also take `NaN`, and exponents that fill memory. */
const PLAIN_DECIMAL = '^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)$'

/** The conditions of a case are tested before its result is calculated. */
const wholeNumber = (text: string, decimals: string) => `case
    when ${decimals} between -${MOST_VIEW_DECIMALS} and ${MOST_VIEW_DECIMALS} and ${text} ~ '${PLAIN_DECIMAL}'
    then trim_scale(cast(${text} as numeric) * cast('1e' || -(${decimals}) as numeric))
  end`

/** A view that is replaced keeps its rights, and the views of others that read it. */
export const POSTGRES_VIEWS: ViewDialect = {
  created: (view, select) => `create or replace view ${view} as\n${select};`,
  // A factor of an interval is a double, which holds the microseconds of all times up to the year 2255.
  time: (nanoseconds) => `timestamptz 'epoch' + interval '1 microsecond'
    * (${nanoseconds} / 1000 - case when ${nanoseconds} % 1000 < 0 then 1 else 0 end)`,
  wholeUnits: (text, decimals) => `cast(${wholeNumber(text, decimals)} as text)`,
  wholeNumber,
  isNotZero: (integer) => `(${integer} <> 0)`,
  jsonText: (json, field) => `(cast(${json} as json) ->> '${field}')`,
  words: (words, alias) =>
    `(values ${words.map((word, key) => `(${key}, '${word}')`).join(', ')}) as ${alias}(key, value)`,
  joinElements: (list, alias) =>
    `left join lateral json_array_elements(cast(${list} as json)) as ${alias}(value) on true`,
}
