/** An error of which a user needs only the message: it says what is wrong, where, and what to do. */
export class PlainError extends Error {}

/** As {@link PlainError}, of what the user has written on the command line. */
export class UsageError extends PlainError {}
