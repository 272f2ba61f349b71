/**
 * Takes measurements in turns, so that a slow minute of the machine counts for all of them: one round to warm up, and then
 * so many. Returns the results of each measurement, without those of the first round.
 */
export async function inTurns<T>(
  rounds: number,
  measurements: readonly ((isWarmUp: boolean) => Promise<T>)[],
): Promise<T[][]> {
  const results: T[][] = measurements.map(() => [])
  for (let round = 0; round <= rounds; round++) {
    const isWarmUp = round === 0
    for (const [index, measure] of measurements.entries()) {
      const result = await measure(isWarmUp)
      if (!isWarmUp) results[index]!.push(result)
    }
  }
  return results
}
