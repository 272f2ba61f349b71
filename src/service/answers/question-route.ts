import { withIsoTimes } from '../formats/iso-times.ts'
import { type Exchange, JSON_TYPE } from '../http/exchange.ts'
import { hasName, parseQuery, queryOf } from '../http/query-string.ts'
import { acceptsGzip, compressed, matchesTag } from '../http/responses/negotiation.ts'
import type { Route } from '../http/router.ts'
import { timeNamesOfAnswer } from '../questions/answer-times.ts'
import { restParametersOf } from '../questions/csv-file.ts'
import { parameterReader, TIMES_PARAMETER } from '../questions/parameters.ts'
import { type AnswerFile, checkSumOf, type Question, type RenderedBody } from '../questions/question.ts'
import type { CachedAnswer } from './answer-cache.ts'
import type { Answers, SentAnswer } from './answers.ts'

/** Clients may cache answers, but must validate them before each use. */
const CACHE_CONTROL = 'no-cache'

/** The route of a question: answers of JSON or another form, with an entity tag, compressed if the request allows it. */
export function questionRoute<Checked>(question: Question<Checked>, answers: Answers): Route {
  const { description } = question
  const isOfReference = 'list' in description && description.list.isOfReference
  const readParameters = parameterReader(restParametersOf(question), isOfReference ? 'ignored' : 'refused')
  const timeNames = timeNamesOfAnswer(description)
  /** The answer with its times in the form of the request, whose parameters have been checked. */
  const withTimes = (rendered: RenderedBody, target: string): RenderedBody =>
    rendered.file === undefined && hasName(queryOf(target), TIMES_PARAMETER.name)
      ? { ...rendered, body: Buffer.from(withIsoTimes(rendered.body.toString(), timeNames)), checkSum: null }
      : rendered
  return {
    path: question.path,
    answer: (exchange) => {
      const { request, response, pathId, address } = exchange
      const isGzipped = acceptsGzip(request)
      return answers.answer(question, {
        key: `${isGzipped ? 'gzip' : 'plain'} ${exchange.target}`,
        form: 'json',
        check: () => question.check(readParameters(parseQuery(queryOf(exchange.target))), pathId),
        address,
        connection: request.socket,
        onceSent: (free) => response.once('close', free),
        sendCached: (cached, storeHead) => sendBody(exchange, cached, storeHead),
        sendRendered: (rendered) => sendRendered(exchange, withTimes(rendered, exchange.target), isGzipped),
      })
    },
  }
}

/** Sends a body that was just rendered; returns what to cache of it, null if the client has it already. */
export async function sendRendered(
  exchange: Exchange,
  answer: Pick<RenderedBody, 'body' | 'checkSum' | 'file'> & { storeHead: RenderedBody['storeHead'] | null },
  isGzipped: boolean,
): Promise<SentAnswer | null> {
  const { body: rendered, checkSum, file, storeHead } = answer
  const plain = file === undefined ? exchange.pretty(rendered) : rendered
  const sum = plain === rendered && checkSum !== null ? checkSum : checkSumOf(plain)
  const tag = `"${sum}${isGzipped ? '-gzip' : ''}"`
  const isUnchanged = matchesTag(exchange.request.headers['if-none-match'], tag)
  const body = isGzipped && !isUnchanged ? await compressed(plain) : plain
  const sent = { body, tag, headers: headersOf(tag, isGzipped, file) }
  sendBody(exchange, sent, storeHead)
  return isUnchanged ? null : sent
}

function sendBody(
  exchange: Exchange,
  { body, tag, headers }: Pick<CachedAnswer, 'body' | 'tag' | 'headers'>,
  storeHead: RenderedBody['storeHead'] | null,
): void {
  if (matchesTag(exchange.request.headers['if-none-match'], tag)) {
    exchange.send(304, { storeHead, vary: 'Accept-Encoding', headers: validatorsOf(tag) })
  } else exchange.send(200, { storeHead, vary: 'Accept-Encoding', headers }, body)
}

const validatorsOf = (tag: string) => ({ 'cache-control': CACHE_CONTROL, etag: tag })

/** The headers of an answer whose body is sent. */
function headersOf(tag: string, isGzipped: boolean, file: AnswerFile | undefined): Record<string, string> {
  const headers: Record<string, string> = { ...validatorsOf(tag), 'content-type': file?.type ?? JSON_TYPE }
  if (file?.name != null) headers['content-disposition'] = `attachment; filename="${file.name}"`
  Object.assign(headers, file?.headers)
  if (isGzipped) headers['content-encoding'] = 'gzip'
  return headers
}
