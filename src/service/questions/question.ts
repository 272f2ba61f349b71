import { crc32 } from 'node:zlib'
import { onOneLine } from '#core/model/node-json'
import type { Resource } from '#core/model/resource'
import type { Change, StoreVersion } from '#core/store/changes'
import type { StoreHead } from '#core/store/pages/page'
import type { Reader } from '#core/store/store'
import type { Parameter, ParameterValues } from './parameters.ts'

/** How a body is written: compact JSON, or the message that a method of gRPC answers with, and its prefix. */
export type BodyForm = 'json' | 'grpc'

/** The body of an answer, from one snapshot of the store. */
export type RenderedBody = {
  body: Buffer
  /** That of JSON of more than {@link SUMMED_BYTES}; otherwise null, and the sender computes it. */
  checkSum: string | null
  storeHead: StoreHead
  /** The commit that the snapshot shows; null if that is not known: the answer is not cached. */
  version: StoreVersion | null
  /** Why the request is refused: only the store could tell. */
  refusal?: string
  /** What the body is if it is no JSON. */
  file?: AnswerFile
}

/** An answer that is no JSON. */
export type AnswerFile = {
  /** Its content type. */
  type: string
  /** The name under which it is saved; null if it is read at once. */
  name: string | null
  /** Headers that say what JSON has in further fields. */
  headers: Readonly<Record<string, string>>
}

/** What a body is rendered from and how. */
type Rendering = {
  reader: Reader
  form: BodyForm
  /** When it was requested, by `process.hrtime`, which all threads share. */
  requestedAt?: bigint
}

/**
 * The queue that an answer waits in: short pages, long pages, or reports, which take several statements. No queue waits for
 * another.
 */
export type QueueClass = 'short' | 'long' | 'report'

/**
 * What it takes to render an answer: the queue that it waits in, and of a short page the most rows that it has, and whether
 * others are read to find these.
 */
export type Workload =
  | { queue: 'short'; rows: number; readsOnlyItsRows: boolean }
  | { queue: Exclude<QueueClass, 'short'> }

/** The rows whose change makes an answer stale: those of a resource, or of one market in it. */
export type AnswerSource = Change | 'the next commit'

/**
 * A question that clients can ask, over REST, gRPC or in the explorer. The checked request can be sent between threads.
 */
export type Question<Checked = unknown> = {
  /** `/api/v2/series/:marketId`; at most one part of a path is a parameter. */
  path: string
  /** The query parameters. */
  parameters: readonly Parameter[]
  /**
   * Checks a request, in the order of docs/api.md's table of errors.
   *
   * @param pathId the last part of the path, if the path has a parameter
   * @throws {ApiError} 400
   */
  check(values: ParameterValues, pathId: string | null): Checked
  /** Renders the body; null while the store contains no block. Rejects with `StoreUnavailableError` (core/store/errors.ts). */
  render(checked: Checked, rendering: Rendering): Promise<RenderedBody | null>
  workload(checked: Checked): Workload
  /** The rows that an answer follows from: it is cached until they change. Null if it is not cached. */
  sourceOf(checked: Checked): AnswerSource | null
  /** Its description in the OpenAPI document and the client. */
  description: ({ list: Resource } | Report) & IsFile
}

/** Whether an answer is given as a CSV file, too (csv-file.ts). */
type IsFile = { isFile?: true }

/** A question whose answer is one object, not a page of a list. */
export type Report = {
  operationId: string
  /** What the client calls its method and its answer, if not by the field of the body. */
  name?: string
  summary: string
  /**
   * The schema of the body: an object, after whose first field the client names its method. The method gives the value of
   * that field if there is no other, else the whole body. A schema with a `title` is a type of the client, and a component
   * of the OpenAPI document if it is an object (`named`).
   */
  body: JsonSchema
  /** The list whose filters it takes, with the same errors; some of them may be needed. */
  filtersOf?: Resource
  /** Two parameters of which one may be given. */
  alternatives?: readonly [string, string]
}

/** As much of JSON Schema as descriptions of bodies use. */
export type JsonSchema = {
  title?: string
  description?: string
  type?: string
  properties?: Readonly<Record<string, JsonSchema>>
  required?: readonly string[]
  items?: JsonSchema
  oneOf?: readonly JsonSchema[]
  enum?: readonly (string | number)[]
  'x-enum-varnames'?: readonly string[]
  pattern?: string
  const?: string
  minItems?: number
  maxItems?: number
  $ref?: string
}

/** The check sum of a longer body is computed by the thread that renders it, not by the one that sends it: 64 KiB take 15 us. */
const SUMMED_BYTES = 64 * 1024

/**
 * A fingerprint of a body: its length, and checksums of both halves. An added or removed row changes both; a change of
 * one number is detected by either.
 */
export function checkSumOf(body: Buffer): string {
  const middle = body.length >> 1
  const sums = [body.subarray(0, middle), body.subarray(middle)].map((half) => crc32(half).toString(36))
  return `${body.length.toString(36)}-${sums.join('-')}`
}

/** An answer of JSON. */
export function renderedBody(
  body: object | Buffer,
  storeHead: StoreHead,
  version: StoreVersion | null,
): RenderedBody {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(onOneLine(JSON.stringify(body)))
  return { body: bytes, checkSum: bytes.length > SUMMED_BYTES ? checkSumOf(bytes) : null, storeHead, version }
}
