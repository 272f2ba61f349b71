import { PlainError } from '../domain/plain-error.ts'

/** A store that cannot be used until an operator does something; the message says what. */
export class StoreError extends PlainError {
  override name = 'StoreError'
}

/** The store's server is unreachable for the moment: it is down, starting, or has too many connections. */
export class StoreAwayError extends StoreError {
  override name = 'StoreAwayError'
}

/** The store is missing, empty, or has an older schema; `lyra migrate` makes it readable. */
export class StoreOutdatedError extends StoreError {
  override name = 'StoreOutdatedError'
  /** The fault without the store's name, which anyone may see. */
  readonly fault: string

  constructor(store: string, fault: string) {
    super(`${store}: ${fault}`)
    this.fault = fault
  }
}

/** A newer program has upgraded the store's schema. */
export class StoreNewerError extends StoreError {
  override name = 'StoreNewerError'
}

/** The store rejects this user, is missing, or is of another chain: retrying does not help. */
export class StoreRefusedError extends StoreError {
  override name = 'StoreRefusedError'
}

/** Another process is the store's writer. */
export class StoreLockedError extends StoreError {
  override name = 'StoreLockedError'
}

/** A row that cannot be read, because one of its texts is longer than any that an event can contain. */
export class RowTooLongError extends Error {
  override name = 'RowTooLongError'

  constructor(store: string, options: ErrorOptions) {
    super(
      `${store}: a text of a row is longer than any that an event can bring; lyra check names it`,
      options,
    )
  }
}

/** The error for a store whose chain, `storedChain`, is not the one that `--chain` names. */
export function otherChain(name: string, chain: string, storedChain: string): StoreRefusedError {
  return new StoreRefusedError(
    `--chain is ${JSON.stringify(chain)}, but ${name} is of chain ${JSON.stringify(storedChain)}: give that chain, or another --store`,
  )
}

/** The database reports that its own files are damaged: retrying does not help. */
export class StoreDamagedError extends StoreError {
  override name = 'StoreDamagedError'
}

/** A store that cannot be read for the moment, or because it is damaged. */
export class StoreUnavailableError extends PlainError {
  override name = 'StoreUnavailableError'
  readonly isDamaged: boolean

  constructor(message: string, options: ErrorOptions & { isDamaged?: boolean } = {}) {
    super(message, options)
    this.isDamaged = options.isDamaged ?? options.cause instanceof StoreDamagedError
  }
}

/** A reader's error; if the store is unusable, as {@link StoreUnavailableError}. */
export function asUnavailable(error: unknown): unknown {
  return error instanceof StoreError ? new StoreUnavailableError(error.message, { cause: error }) : error
}
