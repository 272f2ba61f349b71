import type { Question } from './question.ts'
import { QUESTIONS } from './questions.ts'

/**
 * The question of a path.
 *
 * @throws {TypeError} if there is none.
 */
export function questionAt(path: string): Question {
  const question = QUESTIONS.find((one) => one.path === path)
  if (question === undefined) throw new TypeError(`there is no question ${path}`)
  return question
}
