import { parseDecimal } from '#core/domain/decimal'
import { type Resource, wordsOf } from '#core/model/resource'
import type { ExportColumn } from './columns.ts'
import { ExportError } from './export-error.ts'
import type { ExportedRow } from './export-rows.ts'

/** Digits of a decimal number in Parquet, before and after the point together: the most that readers take. */
export const DECIMAL_PRECISION = 38

const LIMIT = 10n ** BigInt(DECIMAL_PRECISION)

/**
 * A number as the digits of a decimal of {@link DECIMAL_PRECISION} digits; null for an empty text, if that means no number.
 *
 * @throws {ExportError} for a text that is not a number of that type without loss; it names the row.
 */
export function decimalDigits(
  text: string,
  column: Pick<ExportColumn, 'name'> & Required<Pick<ExportColumn, 'decimal'>>,
  resource: Resource,
  exported: ExportedRow,
  remedy: string,
): bigint | null {
  const { scale, isRounded = false, mayBeEmpty } = column.decimal
  if (text === '' && mayBeEmpty === true) return null
  const number = parseDecimal(text)
  const digits = number === null ? null : roundedDigits(number, scale, isRounded)
  if (digits === null || digits >= LIMIT || digits <= -LIMIT) {
    throw new ExportError(
      `${wordsOf(resource)}: ${column.name} is ${JSON.stringify(text.slice(0, 100))} ` +
        `in the row ${describeExportedRow(resource, exported)}, ` +
        `which is not a decimal(${DECIMAL_PRECISION}, ${scale}); ${remedy}, which writes these columns as text`,
    )
  }
  return digits
}

/** Rounded half away from zero, or null where digits would be lost. */
function roundedDigits(
  { digits, scale }: { digits: bigint; scale: number },
  wanted: number,
  isRounded: boolean,
): bigint | null {
  if (scale <= wanted) return digits * 10n ** BigInt(wanted - scale)
  const factor = 10n ** BigInt(scale - wanted)
  if (!isRounded) return digits % factor === 0n ? digits / factor : null
  return (2n * digits + (digits < 0n ? -factor : factor)) / (2n * factor)
}

/** A row by its market and its key. */
function describeExportedRow({ key, scope }: Resource, { row, selection }: ExportedRow): string {
  const parts = key.map(({ column }, index) => `${column} ${row[index]}`)
  return (scope === null ? parts : [`market ${selection[scope]}`, ...parts]).join(', ')
}
