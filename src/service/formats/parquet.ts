import { zstdCompressSync } from 'node:zlib'
import type { ByteWriter, ParquetWriter } from 'hyparquet-writer'
import type { Resource } from '#core/model/resource'
import { type CellValue, type ColumnKind, type ExportColumn, exportTableOf } from './columns.ts'
import { DECIMAL_PRECISION, decimalDigits } from './decimal-columns.ts'
import type { ExportedRow, ExportQuery, TimesForm } from './export-rows.ts'

type SchemaElement = ConstructorParameters<typeof ParquetWriter>[0]['schema'][number]

/** Rows of a row group, which is kept in memory and written at once. */
const GROUP_ROWS = 32_768

type ColumnType = Omit<SchemaElement, 'name' | 'repetition_type'>

const PARQUET_TYPES: Record<Exclude<ColumnKind, 'time'>, ColumnType> = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
  list: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
  integer: { type: 'INT64' },
  boolean: { type: 'BOOLEAN' },
}

/** The type of times. Those in microseconds have their old name, too, for readers that know no other. */
function timeType(times: TimesForm | undefined): ColumnType {
  const isAdjustedToUTC = times !== 'local'
  if (times !== 'micros') {
    return { type: 'INT64', logical_type: { type: 'TIMESTAMP', isAdjustedToUTC, unit: 'NANOS' } }
  }
  const logical_type = { type: 'TIMESTAMP', isAdjustedToUTC, unit: 'MICROS' } as const
  return { type: 'INT64', converted_type: 'TIMESTAMP_MICROS', logical_type }
}

/** Compressed as most readers can: a third smaller than the writer's own way, for less of the processor. */
const COMPRESSION = {
  codec: 'ZSTD',
  compressors: { ZSTD: (bytes: Uint8Array) => zstdCompressSync(bytes) },
} as const

/** How Parquet is written. */
export type ParquetOptions = {
  /** Remedy in the error for a number that does not fit its decimal. */
  remedy?: string
  /** Rows of a row group, if others wait while it is written. */
  groupRows?: number
}

/** How the values of a file are written. */
export type ParquetForm = Pick<ExportQuery, 'times' | 'numbers'>

/** The columns of a resource's Parquet. */
function parquetColumns(resource: Resource, { numbers }: ParquetForm): readonly ExportColumn[] {
  return exportTableOf(resource).columns.map(({ decimal, ...column }) =>
    decimal === undefined || numbers === 'text'
      ? column
      : { ...column, decimal, nullable: column.nullable || decimal.mayBeEmpty === true },
  )
}

/**
 * All rows as the bytes of a Parquet file, row group by row group.
 *
 * @throws {ExportError} for a number that a decimal cannot hold.
 */
export async function* parquetOf(
  chunks: AsyncIterable<ExportedRow[]>,
  { resource, ...form }: Pick<ExportQuery, 'resource'> & ParquetForm,
  options: ParquetOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { ByteWriter, ParquetWriter } = await import('hyparquet-writer')
  const { remedy = 'export with --text', groupRows = GROUP_ROWS } = options
  const { cells } = exportTableOf(resource)
  const columns = parquetColumns(resource, form)
  const bytes = new ByteWriter()
  const schema = parquetSchema(columns, form.times)
  const file = new ParquetWriter({ writer: bytes, schema, createdBy: 'lyra', ...COMPRESSION })
  const group = columns.map((column) => createColumn(column, groupRows, form.times))
  let rows = 0

  function write(): Uint8Array {
    const columnData = columns.map(({ name, kind }, index) => ({
      name,
      data: group[index]!.take(rows),
      ...(isInteger(kind) ? { encoding: 'DELTA_BINARY_PACKED' as const } : {}),
    }))
    if (rows > 0) file.write({ columnData, rowGroupSize: groupRows })
    rows = 0
    return takeBytes(bytes)
  }

  for await (const chunk of chunks) {
    for (const exported of chunk) {
      const values = cells(exported.row, exported.selection)
      for (const [index, column] of columns.entries()) {
        const { name, decimal } = column
        const value = values[index]!
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
  yield takeBytes(bytes)
}

/** The values of a column in a row group. */
type GroupColumn = {
  set(row: number, value: CellValue | bigint): void
  /** The values of the first rows; those that follow may be set from the first one on again. */
  take(rows: number): BigInt64Array | (CellValue | bigint | boolean)[]
}

const isInteger = (kind: ColumnKind) => kind === 'integer' || kind === 'time'

function createColumn(
  { kind, nullable }: ExportColumn,
  groupRows: number,
  times: TimesForm | undefined,
): GroupColumn {
  const isMicros = kind === 'time' && times === 'micros'
  const integerOf = (value: string | bigint) => (isMicros ? microsecondsOf(BigInt(value)) : BigInt(value))
  if (isInteger(kind) && !nullable) {
    const values = new BigInt64Array(groupRows)
    return {
      set: (row, value) => {
        values[row] = integerOf(value!)
      },
      take: (rows) => values.subarray(0, rows),
    }
  }
  const values: (CellValue | bigint | boolean)[] = []
  return {
    set: (row, value) => {
      if (value === null) values[row] = null
      else if (kind === 'boolean') values[row] = value === 'true'
      else values[row] = isInteger(kind) ? integerOf(value) : value
    },
    take: (rows) => values.slice(0, rows),
  }
}

/** The microsecond in which a time lies, before 1970, too. */
function microsecondsOf(nanoseconds: bigint): bigint {
  const cut = nanoseconds / 1_000n
  return nanoseconds < cut * 1_000n ? cut - 1n : cut
}

/** The bytes written since the last call; the writer keeps counting, and reuses its memory. */
function takeBytes(bytes: ByteWriter): Uint8Array {
  const copy = bytes.getBytes().slice()
  bytes.index = 0
  return copy
}

function parquetSchema(columns: readonly ExportColumn[], times: TimesForm | undefined): SchemaElement[] {
  const elements = columns.map(({ name, kind, nullable, decimal: form }): SchemaElement => {
    const repetition_type = nullable ? 'OPTIONAL' : 'REQUIRED'
    if (form === undefined) {
      const type = kind === 'time' ? timeType(times) : PARQUET_TYPES[kind]
      return { ...type, name, repetition_type }
    }
    const decimal = { precision: DECIMAL_PRECISION, scale: form.scale }
    return {
      name,
      repetition_type,
      type: 'FIXED_LEN_BYTE_ARRAY',
      type_length: 16,
      converted_type: 'DECIMAL',
      ...decimal,
      logical_type: { type: 'DECIMAL', ...decimal },
    }
  })
  return [{ name: 'root', num_children: elements.length }, ...elements]
}
