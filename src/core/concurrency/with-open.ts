/** What is closed once it has been used. */
type Closeable = { close(): Promise<unknown> }

/** Uses something that is being opened, and closes it whatever happens meanwhile. Rejects as opening, use or closing does. */
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
