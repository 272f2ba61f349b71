/** Answers of a connection that are made or sent at a time: more would be kept until its client has read these. */
const AT_ONCE = 8

/** Waits until a connection's turn to answer has come; the function returned ends the turn, and is called once. */
export type AnswerTurns = (connection: object) => Promise<() => void>

/** Lets calls of each connection be answered a few at a time, in the order in which they arrived. */
export function createAnswerTurns(): AnswerTurns {
  const byConnection = new WeakMap<object, { running: number; waiting: (() => void)[] }>()
  return async (connection) => {
    const own = byConnection.get(connection) ?? { running: 0, waiting: [] }
    byConnection.set(connection, own)
    if (own.running === AT_ONCE) await new Promise<void>((resolve) => own.waiting.push(resolve))
    else own.running += 1
    return () => {
      const next = own.waiting.shift()
      if (next === undefined) own.running -= 1
      else next()
    }
  }
}
