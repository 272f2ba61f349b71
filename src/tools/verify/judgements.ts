import type { EventPosition } from '#core/domain/event-position'

/*
 * A value is unknown if it cannot be judged, for one of two kinds of reasons. Inputs of it may be missing: there is a value to
 * compare with, but a difference proves nothing; if both agree, they agree. Or its period's beginning was not seen: there is
 * nothing to compare with. What is called `unknown...` is the reason why something is unknown; null if it is known.
 */

/** Why a TWAP is unknown. */
export type UnknownReason =
  | 'events missing'
  | 'imported'
  | 'auctions unknown'
  | 'points pruned'
  | 'market data not stored'
  | 'message refused'
  | 'source unspecified'

/** Why points of the external and the internal source are unknown: some may be missing. */
export type SourceReasons = [external: UnknownReason | null, internal: UnknownReason | null]

/** Why inputs of a market's values are unknown. */
export type UnknownInputs = {
  points: SourceReasons
  /** Whether there was an auction when the period began. */
  auctions: UnknownReason | null
  /** The beginning of the period; of no meaning if it was seen. */
  beginning: UnknownReason
}

export type Counts = { agree: number; differ: number; unknown: number }

/** The number of judged values. */
export const countAll = ({ agree, differ, unknown }: Counts): number => agree + differ + unknown

/** The market and period to verify; null for all. */
export type VerifyFilter = { marketId: string | null; seq: bigint | null }

/** The position of a difference. 64-bit integers are text. */
export type DifferencePosition = {
  marketId: string
  seq: string
  timestamp: string
  height: string
  eventIndex: number
}

/** Results for values of several kinds: the numbers of those that agree, differ and are unknown, and the differences. */
export type JudgedReport<Kind extends string, Reason extends string, Difference> = Record<Kind, Counts> & {
  unknownReasons: Partial<Record<Reason, number>>
  /** The first difference of each market, period and group, up to a limit. */
  differences: Difference[]
  /** Number of differences, including those beyond the limit. */
  differenceCount: number
}

/** A value that has been judged. */
type Judgement<Kind, Reason, Difference> = {
  kind: Kind
  marketId: string
  seq: bigint
  /** Unix nanoseconds. */
  timestamp: bigint
  position: EventPosition
  /** Null if there is nothing to compare with. */
  agrees: boolean | null
  /** Why it is unknown, unless it agrees. Not null if there is nothing to compare with. */
  unknown: Reason | null
  /** Of the differences of a group in a period only the first is reported. */
  group: string
  /** Describes the value if it differs, apart from its position. */
  difference: () => Omit<Difference, keyof DifferencePosition | 'further'>
}

/** Maximum number of differences that are reported one by one. */
const MAX_REPORTED_DIFFERENCES = 1_000

/** Counts judgements, and collects the first difference of each market, period and group. */
export class Judgements<Kind extends string, Reason extends string, Difference extends { further: number }> {
  readonly report: JudgedReport<Kind, Reason, Difference>
  readonly #filter: VerifyFilter
  /**
   * For each market its last period with a difference. Values arrive in the order of the periods; only payments of parties from a
   * store begin again at the first period, after all other values.
   */
  readonly #periods = new Map<string, { seq: bigint; first: Map<string, Difference> }>()

  constructor(filter: VerifyFilter, kinds: readonly Kind[]) {
    const counts = kinds.map((kind): [Kind, Counts] => [kind, { agree: 0, differ: 0, unknown: 0 }])
    this.#filter = filter
    this.report = {
      ...(Object.fromEntries(counts) as Record<Kind, Counts>),
      unknownReasons: {},
      differences: [],
      differenceCount: 0,
    }
  }

  add(judgement: Judgement<Kind, Reason, Difference>): void {
    const { kind, seq, agrees, unknown } = judgement
    if (agrees === null || (!agrees && unknown !== null)) {
      this.addUnknown(kind, seq, 1, unknown!)
      return
    }
    if (!this.#includes(seq)) return
    if (agrees) this.report[kind].agree++
    else {
      this.report[kind].differ++
      this.#addDifference(judgement)
    }
  }

  /** Counts unknown values. */
  addUnknown(kind: Kind, seq: bigint, times: number, reason: Reason): void {
    if (times === 0 || !this.#includes(seq)) return
    const { unknownReasons } = this.report
    this.report[kind].unknown += times
    unknownReasons[reason] = (unknownReasons[reason] ?? 0) + times
  }

  #includes(seq: bigint): boolean {
    return this.#filter.seq === null || this.#filter.seq === seq
  }

  #addDifference(judgement: Judgement<Kind, Reason, Difference>): void {
    const { marketId, seq, timestamp, position, group, difference } = judgement
    let period = this.#periods.get(marketId)
    if (period?.seq !== seq) {
      period = { seq, first: new Map() }
      this.#periods.set(marketId, period)
    }
    const listed = period.first.get(group)
    if (listed !== undefined) {
      listed.further++
      return
    }
    const first = {
      marketId,
      seq: seq.toString(),
      timestamp: timestamp.toString(),
      height: position.height.toString(),
      eventIndex: position.index,
      ...difference(),
      further: 0,
    } as unknown as Difference
    period.first.set(group, first)
    this.report.differenceCount++
    const { differences } = this.report
    if (differences.length < MAX_REPORTED_DIFFERENCES) differences.push(first)
  }
}
