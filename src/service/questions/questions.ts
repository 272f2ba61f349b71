import { RESOURCES } from '#core/resources/resources'
import { auctionsQuestion } from './auctions.ts'
import { coverageQuestion } from './coverage.ts'
import { fundingEstimateQuestion } from './funding-estimate.ts'
import { fundingEstimateHistoryQuestion } from './funding-estimate-history.ts'
import { fundingLeadersQuestion } from './funding-leaders.ts'
import { fundingRatesQuestion } from './funding-rates.ts'
import { liquidityStandingQuestion } from './liquidity-standing.ts'
import { marketSummariesQuestion } from './market-summaries.ts'
import { pageQuestion } from './page.ts'
import { partyFundingQuestion } from './party-funding.ts'
import { partyStatementQuestion } from './party-statement.ts'
import { positionFundingQuestion } from './position-funding.ts'
import type { Question } from './question.ts'
import { seriesQuestion } from './series.ts'

/** Every question, in the order in which the OpenAPI document lists them. */
export const QUESTIONS: readonly Question[] = [
  ...RESOURCES.map(pageQuestion),
  marketSummariesQuestion,
  coverageQuestion,
  fundingEstimateQuestion,
  fundingEstimateHistoryQuestion,
  positionFundingQuestion,
  partyFundingQuestion,
  partyStatementQuestion,
  fundingLeadersQuestion,
  fundingRatesQuestion,
  seriesQuestion,
  auctionsQuestion,
  liquidityStandingQuestion,
]
