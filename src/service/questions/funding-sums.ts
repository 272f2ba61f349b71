import { valueSchema } from './node-schemas.ts'
import type { JsonSchema } from './question.ts'

/** The fields of sums of a party's funding payments. */
export const SUM_SCHEMAS: Readonly<Record<'count' | 'received' | 'paid' | 'net' | 'lossAmount', JsonSchema>> =
  {
    count: { type: 'integer', description: 'Number of payments.' },
    received: valueSchema('number', 'What increased its balance, after losses.'),
    paid: valueSchema('number', 'What decreased its balance, as a positive number.'),
    net: valueSchema('number', '`received` less `paid`.'),
    lossAmount: valueSchema('number', 'What others could not pay, zero or negative; `net` is without it.'),
  }
