import { columnOf, type Field, isList, isNodeOf, isObject, isStored, namesOf } from '#core/model/field'
import { type Resource, type Row, scopeOf } from '#core/model/resource'
import { encodeCursor } from '#core/resources/cursor'
import type { Page, PageQuery } from '#core/store/pages/page'
import { type MessageType, messageType, methodsOf, TRADING_DATA } from '../protos/descriptors.ts'
import { type FindValue, MessageEncoder, valueByName } from '../protos/messages.ts'
import { pageInfoOf, rowsInOrder } from './page-body.ts'

const METHODS = methodsOf(TRADING_DATA)

/** Most bytes of a field besides its text: an integer, or the size of the text, and the field's number. */
const FIELD_BYTES = 15

/** Most bytes of UTF-8 for a character of JavaScript. */
const CHARACTER_BYTES = 3

/** Messages around a node, and the other fields of an edge or of a page. */
const FIELDS_AROUND = 8

/** What a node is encoded from: its row, and the market of the request. */
type NodeSource = { row: Row; scope: string }

/** The encoder of each resource's pages, from when the first is encoded. */
const encoders = new Map<Resource, MessageEncoder>()

/**
 * Encodes a page as the message that the method of its resource answers with, and its prefix. The page must have rows, not
 * edges that a database has written: they would have to be parsed.
 */
export function pageMessage(query: PageQuery, page: Page): Buffer {
  const { resource, selection } = query
  const scope = scopeOf(resource, selection) ?? ''
  let maxBytes = FIELDS_AROUND * FIELD_BYTES
  const edges = rowsInOrder(query, page).map((row) => {
    const shown = resource.lists.shownRow(row, selection)
    const cursor = encodeCursor(resource, selection, row)
    maxBytes += maxBytesOf(shown) + scope.length + cursor.length + FIELDS_AROUND * FIELD_BYTES
    return { node: { row: shown, scope } satisfies NodeSource, cursor }
  })
  const [startCursor, endCursor] = [edges[0]?.cursor ?? '', edges.at(-1)?.cursor ?? '']
  maxBytes += startCursor.length + endCursor.length
  const pageInfo = pageInfoOf(query, page, { startCursor, endCursor })
  const { response } = METHODS[resource.grpcMethod!]!
  return encoderOf(resource).encodeFramed(response, { [resource.bodyKey]: { edges, pageInfo } }, maxBytes)
}

function maxBytesOf(row: Row): number {
  let bytes = row.length * FIELD_BYTES
  for (const value of row) if (typeof value === 'string') bytes += CHARACTER_BYTES * value.length
  return bytes
}

function encoderOf(resource: Resource): MessageEncoder {
  let encoder = encoders.get(resource)
  if (encoder === undefined) {
    encoder = new MessageEncoder(valuesOfPages(resource))
    encoders.set(resource, encoder)
  }
  return encoder
}

/** The values of nodes are in their rows; all others are named as their fields. */
function valuesOfPages({ grpcMethod, bodyKey, fields, storage }: Resource): FindValue {
  const { response } = METHODS[grpcMethod!]!
  const nodeType = [bodyKey, 'edges', 'node'].reduce(typeOfField, response)
  const columns = storage.columns.map(({ name }) => name)
  return (type, field) => {
    const shown = type === nodeType ? fields.find(({ name }) => name === field.name) : undefined
    return shown === undefined ? valueByName(type, field) : valueInRow(shown, columns)
  }
}

function typeOfField({ fields }: MessageType, name: string): MessageType {
  return messageType(fields.find((field) => field.name === name)!.typeName)
}

/** @throws {TypeError} for an object that is made of several columns: no message has one. */
function valueInRow(field: Field, columns: readonly string[]): (source: NodeSource) => unknown {
  const { form } = field
  const column = columnOf(field)
  if (column === 'scope') return ({ scope }) => scope
  if (isObject(form)) throw new TypeError(`${field.name}: an object of several columns is in no message`)
  const at = columns.indexOf(column)
  const names = namesOf(form)
  if (names !== null) return ({ row }) => names[row[at] as number]
  const isJson = isStored(form) || isList(form) || isNodeOf(form)
  if (isJson) return ({ row }) => JSON.parse((row[at] as string | null) ?? 'null')
  return ({ row }) => row[at]
}
