import type { ByteWriter, ParquetWriter } from 'hyparquet-writer'
import type { Resource } from '../resources/resource.ts'
import { type CellValue, type ColumnKind, type ExportColumn, exportTableOf } from './columns.ts'
import { DECIMAL_PRECISION, decimalDigits, decimalName } from './decimal-columns.ts'
import type { ExportedRow } from './export-rows.ts'

type SchemaElement = ConstructorParameters<typeof ParquetWriter>[0]['schema'][number]

/** Rows of a row group: what is held in memory at a time. */
const GROUP_ROWS = 32_768

/**
 * Times are of UTC, written as such without a zone: DuckDB and pandas keep all nine digits of these, and cut those
 * with a zone to microseconds.
 */
const TYPES: Record<ColumnKind, Omit<SchemaElement, 'name' | 'repetition_type'>> = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
  list: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
  integer: { type: 'INT64' },
  time: { type: 'INT64', logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: false, unit: 'NANOS' } },
}

/** How Parquet is written. */
export type ParquetOptions = {
  /** Numbers that are texts also as decimals with so many digits after the point; null: as texts alone. */
  decimalScale: number | null
}

/** The names of the columns of a resource's Parquet. */
export function parquetColumns(resource: Resource, { decimalScale }: ParquetOptions): string[] {
  return exportTableOf(resource).columns.flatMap((column) =>
    column.isNumber && decimalScale !== null ? [column.name, decimalName(column)] : [column.name],
  )
}

/**
 * All rows as the bytes of a Parquet file, row group by row group.
 *
 * @throws {ExportError} for a number that a decimal cannot hold.
 */
export async function* parquetOf(
  chunks: AsyncIterable<ExportedRow[]>,
  resource: Resource,
  { decimalScale }: ParquetOptions = { decimalScale: null },
): AsyncGenerator<Uint8Array, void, undefined> {
  const { ByteWriter, ParquetWriter } = await import('hyparquet-writer')
  const { columns, cells } = exportTableOf(resource)
  const bytes = new ByteWriter()
  const file = new ParquetWriter({
    writer: bytes,
    schema: schemaOf(columns, decimalScale),
    createdBy: 'lyra',
  })
  const group = columns.map(({ kind, nullable }) => createColumn(kind, nullable))
  const decimals = columns.map(({ isNumber }): (bigint | null)[] | null =>
    isNumber && decimalScale !== null ? [] : null,
  )
  let rows = 0

  function write(): Uint8Array {
    const columnData = columns.flatMap((column, index) => {
      const text = { name: column.name, data: group[index]!.take(rows) }
      const numbers = decimals[index]
      return numbers == null ? [text] : [text, { name: decimalName(column), data: numbers.slice(0, rows) }]
    })
    if (rows > 0) file.write({ columnData, rowGroupSize: GROUP_ROWS })
    rows = 0
    return taken(bytes)
  }

  for await (const chunk of chunks) {
    for (const exported of chunk) {
      const { row, selection } = exported
      for (const [index, value] of cells(row, selection).entries()) {
        group[index]!.set(rows, value)
        const numbers = decimals[index]
        if (numbers != null)
          numbers[rows] = decimalDigits(value, decimalScale!, columns[index]!, resource, exported)
      }
      rows++
      if (rows === GROUP_ROWS) yield write()
    }
  }
  yield write()
  file.finish()
  yield taken(bytes)
}

/** The values of a column in a row group. */
type GroupColumn = {
  set(row: number, value: CellValue): void
  /** The values of the first rows; those that follow may be set from the first one on again. */
  take(rows: number): BigInt64Array | (CellValue | bigint)[]
}

function createColumn(kind: ColumnKind, nullable: boolean): GroupColumn {
  const isInteger = kind === 'integer' || kind === 'time'
  if (isInteger && !nullable) {
    const values = new BigInt64Array(GROUP_ROWS)
    return {
      set: (row, value) => {
        values[row] = BigInt(value!)
      },
      take: (rows) => values.subarray(0, rows),
    }
  }
  const values: (CellValue | bigint)[] = []
  return {
    set: (row, value) => {
      values[row] = isInteger && value !== null ? BigInt(value) : value
    },
    take: (rows) => values.slice(0, rows),
  }
}

/** The bytes written since the last time; the writer keeps counting, and reuses its memory. */
function taken(bytes: ByteWriter): Uint8Array {
  const copy = bytes.getBytes().slice()
  bytes.index = 0
  return copy
}

function schemaOf(columns: readonly ExportColumn[], decimalScale: number | null): SchemaElement[] {
  const elements = columns.flatMap((column): SchemaElement[] => {
    const { name, kind, nullable, isNumber } = column
    const text: SchemaElement = { ...TYPES[kind], name, repetition_type: nullable ? 'OPTIONAL' : 'REQUIRED' }
    if (!isNumber || decimalScale === null) return [text]
    const decimal = { precision: DECIMAL_PRECISION, scale: decimalScale }
    return [
      text,
      {
        ...{ name: decimalName(column), repetition_type: 'OPTIONAL' },
        ...{ type: 'FIXED_LEN_BYTE_ARRAY', type_length: 16, converted_type: 'DECIMAL', ...decimal },
        logical_type: { type: 'DECIMAL', ...decimal },
      },
    ]
  })
  return [{ name: 'root', num_children: elements.length }, ...elements]
}
