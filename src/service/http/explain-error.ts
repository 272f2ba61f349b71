import type { Logger } from 'pino'
import { countedNotice } from '#core/domain/counted-notice'
import { StoreUnavailableError } from '#core/store/errors'
import { ApiError, internalError, unavailable } from './errors.ts'

/** Seconds. Only an operator can repair a damaged store. */
const DAMAGE_RETRY_S = 600

/** Turns an error into the client's answer. Internal faults are logged; the client only gets the given name. */
export type ExplainError = (error: unknown, name: Record<string, string>) => ApiError

/** Logs an error if the store is damaged. Returns whether it is. */
type NoteDamage = (error: unknown) => boolean

/** @param onDamage called for each error of a damaged store */
export function createNoteDamage(logger: Logger, onDamage: () => void): NoteDamage {
  const notice = countedNotice((message) => logger.error(message))
  return (error) => {
    const isDamaged = error instanceof StoreUnavailableError && error.isDamaged
    if (!isDamaged) return false
    onDamage()
    notice(`store damaged: ${error.message}`)
    return true
  }
}

/** Creates what turns errors into answers. */
export function createExplainError(logger: Logger, noteDamage: NoteDamage): ExplainError {
  // While a database is unreachable, every request fails.
  const noteUnavailable = countedNotice((message) => logger.warn(message))
  return (error, name) => {
    if (error instanceof ApiError) return error
    if (noteDamage(error)) {
      return unavailable('the store is damaged, and cannot give this answer; see /ready', DAMAGE_RETRY_S)
    }
    if (error instanceof StoreUnavailableError) {
      noteUnavailable(`store unavailable: ${error.message}`)
      return unavailable('the store is temporarily unavailable; try again')
    }
    logger.error({ err: error, ...name }, 'a request failed')
    return internalError(Object.values(name)[0]!)
  }
}
