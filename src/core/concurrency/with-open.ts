/** Something that must be closed after use. */
type Closeable = { close(): Promise<unknown> }

/**
 * Waits for something to open, uses it, and closes it in any case.
 *
 * @throws the error of opening, of the use, or of closing.
 */
export async function withOpen<Opened extends Closeable, Result>(
  opening: Promise<Opened>,
  use: (opened: Opened) => Result | Promise<Result>,
): Promise<Result> {
  const opened = await opening
  try {
    return await use(opened)
  } finally {
    await opened.close()
  }
}
