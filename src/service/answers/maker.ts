import type { Reader } from '#core/store/store'
import type { BodyForm, Made, Question } from '../questions/question.ts'

/**
 * Makes answers, each from one snapshot of the store; null while the store holds no block.
 *
 * Rejects with {@link StoreUnavailableError} while the store cannot be read.
 */
export type Maker = {
  make<Asked>(question: Question<Asked>, asked: Asked, form: BodyForm): Promise<Made | null>
  /** Whether long pages and reports are made one after another. */
  isSerial: boolean
  /** Whether everything that makes answers is loaded and runs. */
  isRunning(): boolean
  close(): Promise<void>
}

/** Makes answers here, from a reader that stays its owner's to close. */
export function makerOf(reader: Reader): Maker {
  return {
    make: (question, asked, form) => question.make(asked, { reader, form }),
    isSerial: false,
    isRunning: () => true,
    close: async () => {},
  }
}
