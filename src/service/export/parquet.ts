import type { ByteWriter, ParquetWriter } from 'hyparquet-writer'
import type { Resource } from '#core/resources/resource'
import { type CellValue, type ColumnKind, type ExportColumn, exportTableOf } from './columns.ts'
import { DECIMAL_PRECISION, decimalDigits } from './decimal-columns.ts'
import type { ExportedRow } from './export-rows.ts'

type SchemaElement = ConstructorParameters<typeof ParquetWriter>[0]['schema'][number]

/** Rows of a row group, which is kept in memory and written at once. */
const GROUP_ROWS = 32_768

/**
 * Times are of UTC, written as such without a zone: DuckDB and pandas keep all nine digits of these, and cut those
 * with a zone to microseconds.
 */
const PARQUET_TYPES: Record<ColumnKind, Omit<SchemaElement, 'name' | 'repetition_type'>> = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
  list: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
  integer: { type: 'INT64' },
  time: { type: 'INT64', logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: false, unit: 'NANOS' } },
}

/** How Parquet is written. */
export type ParquetOptions = {
  /** Whether decimal numbers are texts, which hold every value, instead of decimals. */
  asText: boolean
  /** Whether the folder name replaces the market column. */
  withoutMarket?: boolean
  /** Remedy in the error for a number that does not fit its decimal. */
  remedy?: string
  /** Rows of a row group, if others wait while it is written. */
  groupRows?: number
}

/** The columns of a resource's Parquet, each with its place among the cells of a row. */
function parquetColumns(
  resource: Resource,
  { asText, withoutMarket }: ParquetOptions,
): (ExportColumn & { at: number })[] {
  return exportTableOf(resource).columns.flatMap(({ decimal, ...column }, at) => {
    if (withoutMarket && column.name === 'marketId') return []
    if (decimal === undefined || asText) return [{ at, ...column }]
    return [{ at, ...column, decimal, nullable: column.nullable || decimal.mayBeEmpty === true }]
  })
}

/**
 * All rows as the bytes of a Parquet file, row group by row group.
 *
 * @throws {ExportError} for a number that a decimal cannot hold.
 */
export async function* parquetOf(
  chunks: AsyncIterable<ExportedRow[]>,
  resource: Resource,
  options: ParquetOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { ByteWriter, ParquetWriter } = await import('hyparquet-writer')
  const { remedy = 'export with --text', groupRows = GROUP_ROWS } = options
  const { cells } = exportTableOf(resource)
  const columns = parquetColumns(resource, options)
  const bytes = new ByteWriter()
  const file = new ParquetWriter({ writer: bytes, schema: parquetSchema(columns), createdBy: 'lyra' })
  const group = columns.map((column) => createColumn(column, groupRows))
  let rows = 0

  function write(): Uint8Array {
    const columnData = columns.map(({ name }, index) => ({ name, data: group[index]!.take(rows) }))
    if (rows > 0) file.write({ columnData, rowGroupSize: groupRows })
    rows = 0
    return taken(bytes)
  }

  for await (const chunk of chunks) {
    for (const exported of chunk) {
      const values = cells(exported.row, exported.selection)
      for (const [index, column] of columns.entries()) {
        const { name, decimal } = column
        const value = values[column.at]!
        const isDecimal = value !== null && decimal !== undefined
        group[index]!.set(
          rows,
          isDecimal ? decimalDigits(value, { name, decimal }, resource, exported, remedy) : value,
        )
      }
      rows++
      if (rows === groupRows) yield write()
    }
  }
  yield write()
  file.finish()
  yield taken(bytes)
}

/** The values of a column in a row group. */
type GroupColumn = {
  set(row: number, value: CellValue | bigint): void
  /** The values of the first rows; those that follow may be set from the first one on again. */
  take(rows: number): BigInt64Array | (CellValue | bigint)[]
}

function createColumn({ kind, nullable }: ExportColumn, groupRows: number): GroupColumn {
  const isInteger = kind === 'integer' || kind === 'time'
  if (isInteger && !nullable) {
    const values = new BigInt64Array(groupRows)
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

/** The bytes written since the last call; the writer keeps counting, and reuses its memory. */
function taken(bytes: ByteWriter): Uint8Array {
  const copy = bytes.getBytes().slice()
  bytes.index = 0
  return copy
}

function parquetSchema(columns: readonly ExportColumn[]): SchemaElement[] {
  const elements = columns.map(({ name, kind, nullable, decimal: form }): SchemaElement => {
    const repetition_type = nullable ? 'OPTIONAL' : 'REQUIRED'
    if (form === undefined) return { ...PARQUET_TYPES[kind], name, repetition_type }
    const decimal = { precision: DECIMAL_PRECISION, scale: form.scale }
    return {
      ...{ name, repetition_type, type: 'FIXED_LEN_BYTE_ARRAY', type_length: 16 },
      ...{ converted_type: 'DECIMAL', ...decimal, logical_type: { type: 'DECIMAL', ...decimal } },
    }
  })
  return [{ name: 'root', num_children: elements.length }, ...elements]
}
