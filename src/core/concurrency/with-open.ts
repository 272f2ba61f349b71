/** Uses something that is being opened, and closes it whatever happens meanwhile. */
export async function withOpen<Opened extends { close(): Promise<unknown> }, Result>(
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
