import type { KeptAnswer } from '../answer-cache.ts'
import type { Answers, Sent } from '../answers.ts'
import { parameterReader } from '../questions/parameters.ts'
import { checkSumOf, type Made, type Question } from '../questions/question.ts'
import { type Exchange, JSON_TYPE } from './exchange.ts'
import { acceptsGzip, compressed, matchesTag } from './negotiation.ts'
import { parseQuery, queryOf } from './query-string.ts'
import type { Route } from './router.ts'

/** Answers may be kept, but must be asked about again before they are used. */
const CACHE_CONTROL = 'no-cache'

/** The route of a question: answers of JSON, with an entity tag, compressed if the request allows it. */
export function questionRoute<Asked>(question: Question<Asked>, answers: Answers): Route {
  const readParameters = parameterReader(question.parameters)
  return {
    path: question.path,
    answer: (exchange) => {
      const { request, response, pathId, address } = exchange
      const isGzipped = acceptsGzip(request)
      return answers(question, {
        key: `${isGzipped ? 'gzip' : 'plain'} ${exchange.target}`,
        form: 'json',
        ask: () => question.check(readParameters(parseQuery(queryOf(exchange.target))), pathId),
        address,
        connection: request.socket,
        answered: response,
        sendKept: (kept, position) => sendJson(exchange, kept, position),
        sendMade: (made) => sendMade(exchange, made, isGzipped),
      })
    },
  }
}

/** Sends a body that a question's answer has not. */
export async function sendMade(
  exchange: Exchange,
  { body: json, checkSum, position }: Omit<Made, 'position'> & { position: Made['position'] | null },
  isGzipped: boolean,
): Promise<Sent | null> {
  const plain = exchange.pretty(json)
  const sum = plain === json && checkSum !== null ? checkSum : checkSumOf(plain)
  const tag = `"${sum}${isGzipped ? '-gzip' : ''}"`
  const isKnown = matchesTag(exchange.request.headers['if-none-match'], tag)
  const body = isGzipped && !isKnown ? await compressed(plain) : plain
  sendJson(exchange, { body, tag, isGzipped }, position)
  return isKnown ? null : { body, tag, isGzipped }
}

function sendJson(
  exchange: Exchange,
  { body, tag, isGzipped }: Pick<KeptAnswer, 'body' | 'tag' | 'isGzipped'>,
  position: Made['position'] | null,
): void {
  const headers: Record<string, string> = { 'cache-control': CACHE_CONTROL, etag: tag }
  if (matchesTag(exchange.request.headers['if-none-match'], tag)) {
    exchange.send(304, { position, vary: 'Accept-Encoding', headers })
    return
  }
  headers['content-type'] = JSON_TYPE
  if (isGzipped) headers['content-encoding'] = 'gzip'
  exchange.send(200, { position, vary: 'Accept-Encoding', headers }, body)
}
