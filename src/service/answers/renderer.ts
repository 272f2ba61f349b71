import type { Reader } from '#core/store/store'
import type { BodyForm, Question, RenderedBody } from '../questions/question.ts'

/**
 * Renders answers, each from one snapshot of the store; null while the store holds no block.
 *
 * Rejects with `StoreUnavailableError` (core/store/errors.ts) while the store cannot be read.
 */
export type Renderer = {
  /** @param isAlone whether no other client waits meanwhile */
  render<Checked>(
    question: Question<Checked>,
    checked: Checked,
    form: BodyForm,
    isAlone: boolean,
  ): Promise<RenderedBody | null>
  /** Whether long pages and reports are rendered one after another. */
  isSerial: boolean
  /** Whether everything that renders answers is loaded and runs. */
  isRunning(): boolean
  close(): Promise<void>
}

/** Renders answers here, from a reader that stays its owner's to close. */
export function rendererOf(reader: Reader): Renderer {
  return {
    render: (question, checked, form) => question.render(checked, { reader, form }),
    isSerial: false,
    isRunning: () => true,
    close: async () => {},
  }
}
