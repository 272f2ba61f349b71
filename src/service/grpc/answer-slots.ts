/** Answers of a connection that are rendered or sent at a time. More would fill memory until its client has read these. */
const AT_ONCE = 8

/**
 * Waits for one of a connection's slots for an answer. The function that it resolves with gives the slot back, and is called
 * once.
 */
export type AnswerSlots = (connection: object) => Promise<() => void>

/** Slots with which the calls of each connection are answered a few at a time, in the order in which they arrived. */
export function createAnswerSlots(): AnswerSlots {
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
