import { marketMetricsQuestion } from './market-metrics.ts'
import type { Question } from './question.ts'
import { QUESTIONS } from './questions.ts'

/** Those that a service may have, too. */
const ANSWERED: readonly Question[] = [...QUESTIONS, marketMetricsQuestion()]

/**
 * The question of a path.
 *
 * @throws {TypeError} if there is none.
 */
export function questionAt(path: string): Question {
  const question = ANSWERED.find((one) => one.path === path)
  if (question === undefined) throw new TypeError(`there is no question ${path}`)
  return question
}
