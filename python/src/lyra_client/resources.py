"""Types and methods of the client, from the descriptions of resources and questions in Lyra's source.

`npm run build:client` writes this file. Fields of types have the names of the API, in camel case; methods and
their arguments are in snake case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NotRequired, Required, TypeAlias, TypedDict, Unpack, overload

from lyra_client.connection import Connection
from lyra_client.exports import read_export
from lyra_client.pages import PAGE_SIZE, Page, PageRow, read_page, walk_pages
from lyra_client.reports import read_report
from lyra_client.requests import Resource, Time, named, path_part
from lyra_client.streams import Stream, follow_stream


class Auction(TypedDict):
    """A time in which a market was in auction. Adjoining auctions are merged."""

    marketId: str
    """The market."""
    start: str
    """Start of the auction, Unix nanoseconds. Digits: see `to_datetime`."""
    end: NotRequired[str]
    """End of the auction, Unix nanoseconds. Absent while the auction is in progress. Digits: see
    `to_datetime`.
    """
    openingAuction: bool
    """Whether it is the market's opening auction, or begins with it."""


class Checkpoint(TypedDict):
    """A checkpoint of the network."""

    hash: str
    """Hash of the checkpoint."""
    blockHash: str
    """Hash of the block of the checkpoint."""
    atBlock: str
    """Height of the block of the checkpoint. Digits."""


class Epoch(TypedDict):
    """An epoch of the network. Times that no event has set are absent."""

    epoch: str
    """Number of the epoch. Digits."""
    start: NotRequired[str]
    """Start of the epoch, Unix nanoseconds. Digits: see `to_datetime`."""
    expiry: NotRequired[str]
    """Time at which the epoch was due to end, Unix nanoseconds. It ends in a later block. Digits: see
    `to_datetime`.
    """
    end: NotRequired[str]
    """End of the epoch, Unix nanoseconds. Absent while the epoch is in progress. Digits: see `to_datetime`.
    """
    endBlock: NotRequired[str]
    """Height of the block in which the epoch ended. Absent while the epoch is in progress. Digits."""


class FundingPayment(TypedDict):
    """A payment that a party made or received at the end of a funding period."""

    partyId: str
    """The party."""
    marketId: str
    """The market."""
    fundingPeriodSeq: str
    """Number of the funding period within its market. Digits."""
    timestamp: str
    """Time of the block in which the payment was made, Unix nanoseconds. Digits: see `to_datetime`."""
    amount: str
    """Amount that the party received, negative if it paid, in the smallest unit of the settlement asset. A
    decimal number as the network sent it, for `decimal.Decimal`.
    """
    lossAmount: str
    """Part of the amount that others could not pay, zero or negative, in the smallest unit of the settlement
    asset. A decimal number as the network sent it, for `decimal.Decimal`.
    """


DataPointSource: TypeAlias = Literal["SOURCE_UNSPECIFIED", "SOURCE_EXTERNAL", "SOURCE_INTERNAL"]
"""Source of the price."""


class FundingPeriodDataPoint(TypedDict):
    """A data point of a funding period of a perpetual market."""

    marketId: str
    """The market."""
    seq: str
    """Number of the funding period. Digits."""
    dataPointType: DataPointSource
    """Source of the price."""
    price: str
    """Price in the smallest unit of the settlement asset. A decimal number as the network sent it, for
    `decimal.Decimal`.
    """
    timestamp: str
    """Unix nanoseconds. Digits: see `to_datetime`."""
    twap: str
    """Time-weighted average price of the source in this period up to this point, in the smallest unit of the
    settlement asset. A decimal number as the network sent it, for `decimal.Decimal`.
    """


class FundingPeriod(TypedDict):
    """A funding period of a perpetual market. Fields that its latest event did not set are absent."""

    marketId: str
    """The market."""
    seq: str
    """Number of the period within its market. Digits."""
    start: str
    """Start of the period, Unix nanoseconds. Digits: see `to_datetime`."""
    end: NotRequired[str]
    """End of the period, Unix nanoseconds. Absent while the period is in progress. Digits: see `to_datetime`.
    """
    fundingPayment: NotRequired[str]
    """Payment per whole unit of position at the end of the period, in the smallest unit of the settlement
    asset. Positive if long positions pay short ones. A decimal number as the network sent it, for
    `decimal.Decimal`.
    """
    fundingRate: NotRequired[str]
    """Payment divided by the external TWAP, for this period."""
    internalTwap: NotRequired[str]
    """Time-weighted average of the internal prices, in the smallest unit of the settlement asset. While the
    period is in progress, lists and streams have its opening price, and exports and market summaries no
    value. A decimal number as the network sent it, for `decimal.Decimal`.
    """
    externalTwap: NotRequired[str]
    """Time-weighted average of the external prices, in the smallest unit of the settlement asset. While the
    period is in progress, lists and streams have its opening price, and exports and market summaries no
    value. A decimal number as the network sent it, for `decimal.Decimal`.
    """


Product: TypeAlias = Literal[
    "PRODUCT_UNSPECIFIED",
    "PRODUCT_FUTURE",
    "PRODUCT_SPOT",
    "PRODUCT_PERPETUAL",
]
"""Kind of product."""


MarketState: TypeAlias = Literal[
    "STATE_UNSPECIFIED",
    "STATE_PROPOSED",
    "STATE_REJECTED",
    "STATE_PENDING",
    "STATE_CANCELLED",
    "STATE_ACTIVE",
    "STATE_SUSPENDED",
    "STATE_CLOSED",
    "STATE_TRADING_TERMINATED",
    "STATE_SETTLED",
    "STATE_SUSPENDED_VIA_GOVERNANCE",
]
"""State of the market."""


TradingMode: TypeAlias = Literal[
    "TRADING_MODE_UNSPECIFIED",
    "TRADING_MODE_CONTINUOUS",
    "TRADING_MODE_BATCH_AUCTION",
    "TRADING_MODE_OPENING_AUCTION",
    "TRADING_MODE_MONITORING_AUCTION",
    "TRADING_MODE_NO_TRADING",
    "TRADING_MODE_SUSPENDED_VIA_GOVERNANCE",
    "TRADING_MODE_LONG_BLOCK_AUCTION",
    "TRADING_MODE_PROTOCOL_AUTOMATED_PURCHASE_AUCTION",
]
"""Trading mode."""


class SettlementAsset(TypedDict):
    """Asset whose decimals apply to the prices and TWAPs of data points and periods and to the amounts of
    providers. For a spot market, the quote asset.
    """

    id: str
    """Its id."""
    symbol: str | None
    """Its symbol; null if the store has no event of the asset."""
    name: str | None
    """Its name."""
    decimals: str | None
    """Decimals of its amounts. Digits."""


class FundingSchedule(TypedDict):
    """Due times of payments: `initial` + n × `every`, for n = 0, 1, 2, ... Null unless the market has exactly
    one trigger.
    """

    initial: str | None
    """First due time, Unix nanoseconds. Null if unset. Digits: see `to_datetime`."""
    every: str
    """Interval in nanoseconds. Digits."""


class FundingParameters(TypedDict):
    """Funding parameters, as in the event. Null unless the market is perpetual."""

    interestRate: str
    """Interest rate per year. Empty means 0."""
    clampLowerBound: str
    """Minimum interest component, as a fraction of the external TWAP."""
    clampUpperBound: str
    """Maximum interest component, as a fraction of the external TWAP."""
    scalingFactor: str | None
    """Factor that payments are multiplied by."""
    lowerBound: str | None
    """Lowest rate."""
    upperBound: str | None
    """Highest rate."""
    schedule: FundingSchedule | None
    """Due times of payments: `initial` + n × `every`, for n = 0, 1, 2, ... Null unless the market has exactly
    one trigger.
    """


class SlaParameters(TypedDict):
    """Service level required of liquidity providers. Null if unset or all zero."""

    priceRange: str
    """Maximum distance from the mid price at which orders count as liquidity, as a fraction of the mid price.
    """
    commitmentMinTimeFraction: str
    """Minimum fraction of an epoch during which a provider must offer its commitment."""
    performanceHysteresisEpochs: str
    """Number of earlier epochs that count towards the fee penalty. Digits."""
    slaCompetitionFactor: str
    """Maximum fraction of fees lost as a penalty."""


class Instrument(TypedDict):
    """Name, product, decimals and terms of a market."""

    marketId: str
    """The market."""
    code: str
    """Short name, such as `BTC/PERP`."""
    name: str
    """Long name."""
    product: Product
    """Kind of product."""
    quoteName: str
    """Name of the unit of the prices."""
    decimalPlaces: str
    """Decimals of order and trade prices. Digits."""
    positionDecimalPlaces: str
    """Decimals of position sizes. May be negative. Digits, with a sign if below zero."""
    state: MarketState
    """State of the market."""
    tradingMode: TradingMode
    """Trading mode."""
    settlementAsset: SettlementAsset | None
    """Asset whose decimals apply to the prices and TWAPs of data points and periods and to the amounts of
    providers. For a spot market, the quote asset.
    """
    funding: FundingParameters | None
    """Funding parameters, as in the event. Null unless the market is perpetual."""
    sla: SlaParameters | None
    """Service level required of liquidity providers. Null if unset or all zero."""


class LiquidityProviderEpoch(TypedDict):
    """Performance of a liquidity provider on a market in a completed epoch."""

    marketId: str
    """The market."""
    partyId: str
    """The party."""
    epoch: str
    """Number of the epoch. Digits."""
    timestamp: str
    """Time of the block in which the epoch ended, or, if its market settled before, in which its last fees
    were paid, Unix nanoseconds. Digits: see `to_datetime`.
    """
    atBlock: str
    """Height of that block. Digits."""
    timeOnBook: str | None
    """Fraction of the epoch during which its orders covered its commitment."""
    feePenalty: str | None
    """Fraction of its fees lost for the epoch."""
    bondPenalty: str | None
    """Fraction of its bond lost for the epoch."""
    requiredLiquidity: str | None
    """Amount to be offered on each side of the book, in the smallest unit of the settlement asset."""
    equityLikeShare: str | None
    """The provider's share of the market, by size and age of its commitment. Its part of the fees also
    depends on its average score and penalties. Null if the market listed none.
    """
    feesPaid: str | None
    """The fees that the core allocated to it in the epoch, before the fee penalty and without any bonus, in
    the smallest unit of the settlement asset. Null if the core sent none. A decimal number as the network
    sent it, for `decimal.Decimal`.
    """


class LiquidityProviderFeeShare(TypedDict):
    """Figures that determine the provider's part of the liquidity fees."""

    party: str
    """The party."""
    equityLikeShare: str
    """The provider's share of the market, by size and age of its commitment. Its part of the fees also
    depends on its average score and penalties.
    """
    averageEntryValuation: str
    """Average market value at which it committed, in the smallest unit of the settlement asset."""
    averageScore: str
    """How close its orders are to the middle of the order book (liquidity score). Its part of the fees is
    `equityLikeShare` times this, divided by the sum over the providers of the market. If AMMs, which are not
    listed, hold a part of the equity-like share, that is an upper bound.
    """
    virtualStake: str
    """Its commitment plus its share of the market's growth since then, in the smallest unit of the settlement
    asset.
    """


class LiquidityProviderSla(TypedDict):
    """How well the party meets its commitment. Null if the core sent none."""

    party: str
    """The party."""
    currentEpochFractionOfTimeOnBook: str
    """Fraction of the current epoch during which its orders covered its commitment."""
    lastEpochFractionOfTimeOnBook: str
    """The same for the last completed epoch."""
    lastEpochFeePenalty: str
    """Fraction of its fees lost for the last epoch."""
    lastEpochBondPenalty: str
    """Fraction of its bond lost for the last epoch."""
    hysteresisPeriodFeePenalties: list[str]
    """Fee penalties of the earlier epochs that still count."""
    requiredLiquidity: str
    """Amount to be offered on each side of the book, in the smallest unit of the settlement asset."""
    notionalVolumeBuys: str
    """Volume of its buy orders that counts towards its commitment, in the smallest unit of the settlement
    asset.
    """
    notionalVolumeSells: str
    """Volume of its sell orders that counts towards its commitment, in the smallest unit of the settlement
    asset.
    """


class LiquidityProvider(TypedDict):
    """A party that provides liquidity on a market."""

    partyId: str
    """The party."""
    marketId: str
    """The market."""
    feeShare: LiquidityProviderFeeShare
    """Figures that determine the provider's part of the liquidity fees."""
    sla: LiquidityProviderSla | None
    """How well the party meets its commitment. Null if the core sent none."""


class PaidLiquidityFee(TypedDict):
    """The fees of a liquidity provider."""

    party: str
    """The party."""
    amount: str
    """Its fees before the fee penalty, in the smallest unit of the asset."""
    quantumAmount: str
    """The same in quanta of the asset; mostly empty."""


class PaidLiquidityFees(TypedDict):
    """The fees that a market allocated to its liquidity providers for an epoch, before fee penalties."""

    market: str
    """The market."""
    asset: str
    """The asset of the fees."""
    epochSeq: str
    """Number of the epoch. Digits."""
    totalFeesPaid: str
    """All fees that the market allocated, in the smallest unit of the asset. Empty if not set."""
    feesPaidPerParty: list[PaidLiquidityFee]
    """The fees of each party."""


class FundingEstimate(TypedDict):
    """Estimate of the running funding period, as published in the market's latest data: the payment if the
    period ended now.
    """

    marketId: str
    """The market."""
    seq: str
    """Number of the running funding period. Digits."""
    start: str
    """Start of the period, Unix nanoseconds. Digits: see `to_datetime`."""
    at: str
    """Time of the market data, Unix nanoseconds. Digits: see `to_datetime`."""
    internalTwap: str
    """Time-weighted average of the internal prices since the start of the period, in the smallest unit of the
    settlement asset. A decimal number as the network sent it, for `decimal.Decimal`.
    """
    externalTwap: str
    """Time-weighted average of the external prices since the start of the period, in the smallest unit of the
    settlement asset. A decimal number as the network sent it, for `decimal.Decimal`.
    """
    fundingPayment: str
    """Payment per whole unit of position, in the smallest unit of the settlement asset. Positive if long
    positions would pay short ones. A decimal number as the network sent it, for `decimal.Decimal`.
    """
    fundingRate: str
    """Payment divided by the external TWAP, as a decimal number."""


class MarketData(TypedDict):
    """Latest data of a market."""

    timestamp: str
    """Time of the data, Unix nanoseconds. Digits: see `to_datetime`."""
    markPrice: str
    """Mark price in the market's decimals. Empty if there is none."""
    openInterest: str
    """Open interest in the market's position decimals. Digits."""
    marketState: MarketState
    """State of the market."""
    tradingMode: TradingMode
    """Trading mode."""


RateAverages = TypedDict(
    "RateAverages",
    {
        # Over the last 24 hours.
        "24h": str | None,
        # Over the last 7 days.
        "7d": str | None,
        # Over the last 30 days.
        "30d": str | None,
    },
)
"""Average funding rates per 8 hours: the sum of the rates of the periods that ended in a window before the
last block, divided by the number of 8-hour intervals in it, to 16 decimal places. Null unless all periods of
the window are stored and one was paid; null if blocks, or a period that later events name, are missing after
the start of the latest stored period.
"""


class MarketSummary(TypedDict):
    """A market that appears in any list, with its current nodes from the other lists; null if a list has
    none.
    """

    marketId: str
    """The market."""
    instrument: Instrument | None
    """Name and decimals; null if the store has no market event for it."""
    runningPeriod: FundingPeriod | None
    """The latest funding period; null if it has ended, or if later events name a later one."""
    lastPaidPeriod: FundingPeriod | None
    """The last paid funding period."""
    estimate: FundingEstimate | None
    """Estimated payment if the running period ended now, as published by the network."""
    lastExternalPoint: FundingPeriodDataPoint | None
    """Latest data point of the external price."""
    lastInternalPoint: FundingPeriodDataPoint | None
    """Latest data point of the internal price."""
    marketData: MarketData | None
    """Latest market data; null if none are stored. Newer than the state and mode of `instrument`."""
    averages: RateAverages
    """Average funding rates per 8 hours."""
    providers: str
    """Number of liquidity providers. Digits."""


class PageInfo(TypedDict):
    hasNextPage: bool
    hasPreviousPage: bool
    startCursor: str
    """Cursor of the first edge; empty on an empty page."""
    endCursor: str
    """Cursor of the last edge; empty on an empty page."""


BlockRange = TypedDict(
    "BlockRange",
    {
        "from": str,
        "to": str,
    },
)


BlockGap = TypedDict(
    "BlockGap",
    {
        "from": str,
        "to": str,
        # `missing`: the blocks are not stored. `incomplete`: some of their events are missing.
        "kind": Literal["missing", "incomplete"],
        # Time of the last stored block before, Unix nanoseconds. Null if it is not known or there is none:
        # the gap is open on that side.
        "start": str | None,
        # Time of the first stored block after, Unix nanoseconds. Null if it is not known or there is none.
        "end": str | None,
    },
)


ImportedBlocks = TypedDict(
    "ImportedBlocks",
    {
        "from": str,
        "to": str,
        # Resources that the source did not have, or that are not imported yet. Left out if there are none.
        "lacks": NotRequired[list[str]],
    },
)


class StoredBlocks(TypedDict):
    ranges: list[BlockRange]
    """Heights of completely stored blocks, both ends included."""
    gaps: list[BlockGap]
    """Heights between the first and the last block that are not completely stored."""
    imported: list[ImportedBlocks]
    """Heights of blocks whose rows were imported from a data node's tables. Of each market, period and
    source, only the last data point in a block is present; times are in microseconds; the order within a
    block is unknown.
    """
    lastTimestamp: str
    """Unix nanoseconds."""


class CompleteSince(TypedDict):
    resource: str
    height: str
    start: str | None
    """Time of that block, Unix nanoseconds. Null if it is not known."""


class StoredRows(TypedDict):
    count: str


class StoredBlockRows(TypedDict):
    count: str
    firstTimestamp: str | None
    """Unix nanoseconds."""
    lastTimestamp: str | None
    """Unix nanoseconds."""


class StoredMarketRows(TypedDict):
    marketId: str
    count: str
    firstTimestamp: str
    """Unix nanoseconds."""
    lastTimestamp: str
    """Unix nanoseconds."""


class StoredMarketProviders(TypedDict):
    marketId: str
    count: str
    atBlock: str


class PruneLimit(TypedDict):
    timestamp: str | None
    """Unix nanoseconds."""
    height: str | None


class Coverage(TypedDict):
    """List stored blocks, gaps and row counts."""

    chainId: str
    blocks: StoredBlocks
    since: list[CompleteSince]
    """Resources that an older version of the service did not store: they are complete from this height on. To
    have them in all blocks, ingest the event files into a new store.
    """
    auctions: StoredRows
    checkpoints: StoredBlockRows
    """Times are those of the blocks that contained the rows."""
    epochs: StoredRows
    fundingPayments: list[StoredMarketRows]
    """By market."""
    fundingPeriodDataPoints: list[StoredMarketRows]
    """By market."""
    fundingPeriods: list[StoredMarketRows]
    """By market."""
    instruments: StoredRows
    liquidityProviderHistory: list[StoredMarketRows]
    """By market."""
    liquidityProviders: list[StoredMarketProviders]
    """By market. `atBlock` is the block of its latest list."""
    paidLiquidityFeesStats: StoredRows
    next: str | None
    """Null if nothing is left. If there are more than 1000 gaps, imported ranges, or markets in a list, the
    response contains the first ones; pass this as `after` to get the next ones. Lists without further entries
    are then empty.
    """
    prunedBefore: PruneLimit | None
    """Limit before which rows have been pruned: a time, a height, or both. Null if nothing was pruned."""


class HistoricEstimate(TypedDict):
    timestamp: str
    """Time of a data point, or of the end of the period, Unix nanoseconds."""
    seq: str
    """Number of the period that ran, or ended, then."""
    internalTwap: str | None
    """Time-weighted average of the internal prices of the period until then."""
    externalTwap: str | None
    """Time-weighted average of the external prices of the period until then."""
    fundingPayment: str | None
    """Payment per whole unit of position, had the period ended then; at its end, what was paid."""
    fundingRate: str | None
    """Payment divided by the external TWAP, as a decimal number."""
    parameters: Literal["current", "later"]
    """Only the latest parameters of a market are stored: before its latest event they may have been others,
    `later`.
    """


MissingBlocks = TypedDict(
    "MissingBlocks",
    {
        # First block.
        "from": str,
        # Last block.
        "to": str,
        # Time of the last stored block before them, Unix nanoseconds. Null if it is unknown: they may be of
        # any earlier time.
        "start": str | None,
        # Time of the first stored block after them, Unix nanoseconds. Null if it is unknown: they may be of
        # any later time.
        "end": str | None,
    },
)


class StoredSince(TypedDict):
    height: str
    """The block from which on the store has everything."""
    start: str | None
    """Time of that block, Unix nanoseconds. Null if it is unknown."""


class FundingEstimateHistory(TypedDict):
    marketId: str
    """The market."""
    estimates: list[HistoricEstimate]
    """In time order. Amounts are in the smallest unit of the settlement asset; null if what they follow from
    is not stored.
    """
    next: str | None
    """`pagination.after` of the next request. Null if nothing is left."""


class FundingEstimateHistoryAnswer(TypedDict):
    """Get what a market's funding periods would have paid, over time."""

    fundingEstimateHistory: FundingEstimateHistory
    missing: list[MissingBlocks]
    """Blocks that are missing or incomplete, and imported ones without the resource: what they contain is not
    in the answer. At most the last 1,000 ranges.
    """
    since: StoredSince | None


class PositionPayment(TypedDict):
    seq: str
    """Number of the period within its market."""
    end: str
    """End of the period, Unix nanoseconds."""
    fundingRate: str
    """The funding rate of the period."""
    amount: str
    """Change of the position's balance, in the smallest unit of the settlement asset. Negative if it paid."""


class PositionFunding(TypedDict):
    """Calculate the funding payments of a position over a time range."""

    marketId: str
    units: str
    """The requested position size."""
    count: int | None
    """Paid periods that ended in the range. Null with `pagination.after`."""
    total: str | None
    """Sum of the amounts over the whole range. Null with `pagination.after`."""
    sumOfRates: str | None
    """Sum of the funding rates over the whole range. Null with `pagination.after`."""
    averageRate: str | None
    """Sum of the rates divided by the count, to 16 decimal places. Null if no period was paid."""
    firstEnd: str | None
    """End of the earliest paid period in the range, Unix nanoseconds."""
    lastEnd: str | None
    """End of the latest paid period in the range, Unix nanoseconds."""
    completeFrom: str | None
    """Start of the earliest period from which all periods are stored up to the last known one, Unix
    nanoseconds. Null if there is none.
    """
    missing: list[str] | None
    """Numbers of the periods in the range that are not stored or have no end, up to the last period that an
    event, a data point or market data name. If the range is open or ends after the last stored end, it
    includes a running period. At most 1,000.
    """
    payments: list[PositionPayment]
    """A page of the payments in the range, newest first."""
    next: str | None
    """`pagination.after` of the next request. Null if nothing is left, or no payment was requested."""


class FundingBucket(TypedDict):
    start: str
    """Start of the day, of the week (a Monday) or of the month, in UTC, as Unix nanoseconds."""
    count: int
    """Number of payments."""
    received: str
    """What increased its balance, after losses."""
    paid: str
    """What decreased its balance, as a positive number."""
    net: str
    """`received` less `paid`."""
    lossAmount: str
    """What others could not pay, zero or negative; `net` is without it."""


class MarketFunding(TypedDict):
    marketId: str
    """The market. Amounts are in the smallest unit of its settlement asset."""
    count: int
    """Number of payments."""
    received: str
    """What increased its balance, after losses."""
    paid: str
    """What decreased its balance, as a positive number."""
    net: str
    """`received` less `paid`."""
    lossAmount: str
    """What others could not pay, zero or negative; `net` is without it."""
    buckets: NotRequired[list[FundingBucket]]
    """Days, weeks or months with a payment, in time order. Absent unless an interval is given."""


class PartyFunding(TypedDict):
    partyId: str
    """The party."""
    markets: list[MarketFunding]
    """The markets in which it paid or received anything in the range, by id. Nothing is added up over
    markets, whose assets may differ.
    """


class PartyFundingAnswer(TypedDict):
    """Add up the funding payments of a party by market, and by day, week or month."""

    partyFunding: PartyFunding
    missing: list[MissingBlocks]
    """Blocks that are missing or incomplete, and imported ones without the resource: what they contain is not
    in the answer. At most the last 1,000 ranges.
    """
    since: StoredSince | None


class StatementRow(TypedDict):
    time: str
    """Time of the block, RFC 3339 in UTC."""
    market: str | None
    """Short name of the market. Null if it is not stored."""
    marketId: str
    """The market."""
    kind: Literal["funding payment", "liquidity fee", "fee penalty"]
    """What the row is of."""
    period: str | None
    """Number of the funding period within its market."""
    epoch: str | None
    """Number of the epoch of a fee or penalty."""
    rate: str | None
    """Funding rate of the period. Null if that is not stored."""
    size: str | None
    """Position that was paid for, positive for a long one, rounded to the steps of the market. Null after
    losses, if a step pays less than two of the smallest unit, and if period or market are not stored.
    """
    amount: str | None
    """Change of the balance, in whole units of the asset. Null if it is not known."""
    runningTotal: str | None
    """Sum of the amounts of the asset up to this row. Null if the amount is."""
    lossAmount: str | None
    """Part of a funding payment that others could not pay, zero or negative, in whole units; `amount` is
    without it.
    """
    asset: str | None
    """Symbol of the asset. Null if it is not stored."""
    assetId: str | None
    """The asset. Null if the market is not stored."""
    note: str | None
    """Why the amount is not known."""


class PartyStatement(TypedDict):
    partyId: str
    """The party."""
    rows: list[StatementRow]
    """Funding payments, liquidity fees and fee penalties, in time order. Fees are before the penalty, which
    is a row of its own.
    """
    incomplete: list[str]
    """Why the statement may not have everything that it should, in plain English. Empty if it has."""
    notIncluded: list[str]
    """What no statement has."""


class PartyStatementAnswer(TypedDict):
    """Get a statement of the funding payments, liquidity fees and fee penalties of a party."""

    partyStatement: PartyStatement
    missing: list[MissingBlocks]
    """Blocks that are missing or incomplete, and imported ones without the resource: what they contain is not
    in the answer. At most the last 1,000 ranges.
    """
    since: StoredSince | None


class FundingLeader(TypedDict):
    partyId: str
    """The party."""
    count: int
    """Number of payments."""
    received: str
    """What increased its balance, after losses."""
    paid: str
    """What decreased its balance, as a positive number."""
    net: str
    """`received` less `paid`."""


class FundingLeaders(TypedDict):
    parties: int
    """Number of parties that paid or received anything in the range."""
    leaders: list[FundingLeader]
    """The first of them, in the order of the request, then by id. Without `network`: what that really paid no
    event says. Amounts are in the smallest unit of the asset.
    """


class FundingLeadersAnswer(TypedDict):
    """List the parties that received or paid most funding."""

    fundingLeaders: FundingLeaders
    missing: list[MissingBlocks]
    """Blocks that are missing or incomplete, and imported ones without the resource: what they contain is not
    in the answer. At most the last 1,000 ranges.
    """
    since: StoredSince | None


class FundingRateBucket(TypedDict):
    start: str
    """Start of the bucket, Unix nanoseconds: a multiple of its length."""
    count: int
    """Paid periods that ended in the bucket."""
    sumOfRates: str
    """Sum of their funding rates."""


class MarketFundingRates(TypedDict):
    marketId: str
    """The market."""
    interval: Literal["8h", "1d"]
    buckets: list[FundingRateBucket]
    """Buckets in which a paid period ended, in time order."""


class MarketFundingRatesEdge(TypedDict):
    node: MarketFundingRates
    cursor: str
    """Opaque. Pass it as pagination.after or pagination.before."""


class MarketFundingRatesPage(TypedDict):
    edges: list[MarketFundingRatesEdge]
    pageInfo: PageInfo


FundingRates: TypeAlias = MarketFundingRatesPage
"""Sum funding rates of markets by day or by 8 hours."""


class SeriesSummary(TypedDict):
    first: str
    """Value of the earliest point."""
    last: str
    """Value of the latest point."""
    minimum: str
    """Smallest value; of equal values, the first."""
    maximum: str
    """Largest value; of equal values, the first."""


class SeriesBucket(TypedDict):
    start: str
    """Start of the bucket, Unix nanoseconds: a multiple of its length."""
    seq: str
    """Latest funding period with a point in the bucket; `twap` covers only its points."""
    count: str
    """Number of points. A point that was carried over into later funding periods counts once."""
    price: SeriesSummary
    """Prices of all points, formatted as in the events."""
    twap: SeriesSummary
    """Time-weighted average prices of the points of period `seq`, formatted as in the events."""


class SeriesSource(TypedDict):
    dataPointType: Literal["SOURCE_UNSPECIFIED", "SOURCE_EXTERNAL", "SOURCE_INTERNAL"]
    buckets: list[SeriesBucket]
    """Buckets with points, in time order."""


Series = TypedDict(
    "Series",
    {
        "marketId": str,
        # Start of the first bucket of the range, Unix nanoseconds. 0 if there are no points.
        "from": str,
        # End of the last bucket of the range, Unix nanoseconds. 0 if there are no points.
        "to": str,
        # Length of a bucket. Empty if there are no points.
        "interval": Literal[
            "",
            "1s",
            "2s",
            "5s",
            "10s",
            "15s",
            "30s",
            "1m",
            "2m",
            "5m",
            "10m",
            "15m",
            "30m",
            "1h",
            "2h",
            "4h",
            "8h",
            "12h",
            "1d",
            "2d",
            "7d",
            "14d",
            "28d",
            "91d",
            "365d",
        ],
        # Length of a bucket in nanoseconds. 0 if there are no points.
        "bucketNanoseconds": str,
        # Sources with points in the range, external first.
        "sources": list[SeriesSource],
    },
)
"""Get the prices and TWAPs of a market in time buckets, for a chart."""


SeriesInterval: TypeAlias = Literal[
    "1s",
    "2s",
    "5s",
    "10s",
    "15s",
    "30s",
    "1m",
    "2m",
    "5m",
    "10m",
    "15m",
    "30m",
    "1h",
    "2h",
    "4h",
    "8h",
    "12h",
    "1d",
    "2d",
    "7d",
    "14d",
    "28d",
    "91d",
    "365d",
]


class AuctionInterval(TypedDict):
    start: str
    """Start of the auction, Unix nanoseconds."""
    end: NotRequired[str]
    """End of the auction, Unix nanoseconds. Absent while the auction is in progress."""


class MarketAuctions(TypedDict):
    """List when a market was in auction."""

    marketId: str
    completeFrom: str
    """Auctions that ended before this time (Unix nanoseconds) may be missing. 0 unless the market has more
    than 20,000 auction events, of which the newest are read.
    """
    intervals: list[AuctionInterval]
    """Auctions that overlap the range, oldest first. Adjoining auctions are merged."""


class ProviderStanding(TypedDict):
    marketId: str
    """The market."""
    partyId: str
    """The party."""
    epoch: str | None
    """Number of the running epoch. Null if it is not known which one runs."""
    epochStart: str | None
    """Start of the epoch, Unix nanoseconds."""
    epochExpectedEnd: str | None
    """Expected end of the epoch, Unix nanoseconds: as long after its expiry as the epoch before ended after
    its own, and never before `at`. Null if the epoch before is not stored.
    """
    at: str | None
    """Time of the market data with these figures, Unix nanoseconds. Null if the data have none of this
    provider.
    """
    timeOnBook: str | None
    """Fraction of the epoch until `at` during which its orders covered its commitment. Null if the core has
    sent none in this epoch.
    """
    minimum: str | None
    """Fraction of the epoch that it must be on the book: `commitmentMinTimeFraction` of the market. Null if
    no event of the market has it.
    """
    elapsed: str | None
    """Fraction of the epoch that has passed at `at`. In the epoch in which a market leaves its opening
    auction, the core counts from then on.
    """
    ifLeft: str | None
    """Time on book of the whole epoch if the provider left the book at `at`."""
    stillNeeded: str | None
    """Fraction of the remaining time that it must be on the book to reach the minimum: 0 if it has, above 1
    if it cannot. Null if no time remains.
    """
    feePenaltyIfLeft: str | None
    """Fraction of its fees that it would lose for the epoch if it left the book at `at`: the greater of the
    penalty for `ifLeft` and the mean of the earlier penalties that still count.
    """
    feePenaltyLastEpoch: str | None
    """Fraction of its fees lost for the last epoch. Null if the core has sent none."""


class LiquidityStandingAnswer(TypedDict):
    """Get how liquidity providers stand in the running epoch."""

    liquidityStanding: list[ProviderStanding]
    """Each live provision, by market and party."""
    missing: list[MissingBlocks]
    """Blocks that are missing or incomplete, and imported ones without the resource: what they contain is not
    in the answer. At most the last 1,000 ranges.
    """
    since: StoredSince | None


class MarketSummaryChange(TypedDict):
    """The parts of a market's summary that have changed; the whole at first."""

    marketId: str
    """The market."""
    instrument: NotRequired[Instrument | None]
    """Name and decimals; null if the store has no market event for it."""
    runningPeriod: NotRequired[FundingPeriod | None]
    """The latest funding period; null if it has ended, or if later events name a later one."""
    lastPaidPeriod: NotRequired[FundingPeriod | None]
    """The last paid funding period."""
    estimate: NotRequired[FundingEstimate | None]
    """Estimated payment if the running period ended now, as published by the network."""
    lastExternalPoint: NotRequired[FundingPeriodDataPoint | None]
    """Latest data point of the external price."""
    lastInternalPoint: NotRequired[FundingPeriodDataPoint | None]
    """Latest data point of the internal price."""
    marketData: NotRequired[MarketData | None]
    """Latest market data; null if none are stored. Newer than the state and mode of `instrument`."""
    averages: NotRequired[RateAverages]
    """Average funding rates per 8 hours."""
    providers: NotRequired[str]
    """Number of liquidity providers. Digits."""


class AuctionFilters(TypedDict, total=False):
    """Filters of a list of auctions."""

    market_id: str | None
    """Only rows of this market."""
    start: Time | None
    """Rows that end after this time, or have no end yet."""
    end: Time | None
    """Rows that begin before this time."""


class FundingPaymentFilters(TypedDict, total=False):
    """Filters of a list of funding payments."""

    party_id: Required[str]
    """Only rows of this party."""
    market_id: str | None
    """Only rows of this market."""
    start: Time | None
    """Rows from this time on, inclusive."""
    end: Time | None
    """Rows before this time."""


class FundingPeriodDataPointFilters(TypedDict, total=False):
    """Filters of a list of funding period data points."""

    market_id: Required[str]
    """Only rows of this market."""
    source: DataPointSource | None
    """Only rows of this source: SOURCE_EXTERNAL or SOURCE_INTERNAL; SOURCE_UNSPECIFIED means all."""
    seq: int | str | None
    """Only rows of this funding period."""
    start: Time | None
    """Rows from this time on, inclusive."""
    end: Time | None
    """Rows before this time."""


class FundingPeriodFilters(TypedDict, total=False):
    """Filters of a list of funding periods."""

    market_id: Required[str]
    """Only rows of this market."""
    start: Time | None
    """Rows from this time on, inclusive."""
    end: Time | None
    """Rows before this time."""


class InstrumentFilters(TypedDict, total=False):
    """Filters of a list of instruments."""

    market_id: str | None
    """Only rows of this market."""


class LiquidityProviderEpochFilters(TypedDict, total=False):
    """Filters of a list of liquidity provider history; at least one of market_id and party_id."""

    market_id: str | None
    """Only rows of this market."""
    party_id: str | None
    """Only rows of this party."""
    start: Time | None
    """Rows from this time on, inclusive."""
    end: Time | None
    """Rows before this time."""


class LiquidityProviderFilters(TypedDict, total=False):
    """Filters of a list of liquidity providers; at least one of market_id and party_id."""

    market_id: str | None
    """Only rows of this market."""
    party_id: str | None
    """Only rows of this party."""


class PaidLiquidityFeesFilters(TypedDict, total=False):
    """Filters of a list of paid liquidity fees stats."""

    asset_id: str | None
    """Only rows of this asset."""
    market_id: str | None
    """Only rows of this market."""
    epoch_seq: int | str | None
    """Only rows of this epoch."""
    epoch_from: int | str | None
    """Only rows of this epoch and later ones. `epochSeq` is then ignored."""
    epoch_to: int | str | None
    """Only rows of this epoch and earlier ones. `epochSeq` is then ignored; if `epochFrom` is greater, the
    two are swapped.
    """
    party_ids: Sequence[str] | None
    """Only rows that name one of these parties, and of their fees only those of these parties."""


class MarketSummaryFilters(TypedDict, total=False):
    """Filters of a list of market summaries."""

    market_id: str | None
    """Only rows of this market."""


class ExportFilters(TypedDict, total=False):
    """Filters of exports; each resource has those of its list."""

    market_id: str | None
    start: Time | None
    end: Time | None
    party_id: str | None
    source: DataPointSource | None
    seq: int | str | None
    asset_id: str | None
    epoch_seq: int | str | None
    epoch_from: int | str | None
    epoch_to: int | str | None
    party_ids: Sequence[str] | None


class StreamFilters(TypedDict, total=False):
    """Filters of streams; each resource has those of its list, without times."""

    market_id: str | None
    party_id: str | None
    source: DataPointSource | None
    seq: int | str | None
    asset_id: str | None
    epoch_seq: int | str | None
    epoch_from: int | str | None
    epoch_to: int | str | None
    party_ids: Sequence[str] | None


ExportName: TypeAlias = Literal[
    "auctions",
    "checkpoints",
    "epochs",
    "funding_payments",
    "funding_period_data_points",
    "funding_periods",
    "instruments",
    "liquidity_provider_history",
    "liquidity_providers",
    "paid_liquidity_fees_stats",
]
"""The resources that have exports."""


AUCTIONS: Resource[Auction, Auction] = Resource(
    name="auctions",
    event="auctions",
    path="/api/v2/auctions",
    filters={
        "market_id": "marketId",
        "start": "dateRange.startTimestamp",
        "end": "dateRange.endTimestamp",
    },
    stream_path="/api/v2/stream/auctions",
    stream_filters={"market_id": "marketId"},
    export_path="/api/v2/export/auctions",
)


CHECKPOINTS: Resource[Checkpoint, Checkpoint] = Resource(
    name="checkpoints",
    event="checkpoints",
    path="/api/v2/checkpoints",
    filters={},
    stream_path="/api/v2/stream/checkpoints",
    stream_filters={},
    export_path="/api/v2/export/checkpoints",
)


EPOCHS: Resource[Epoch, Epoch] = Resource(
    name="epochs",
    event="epochs",
    path="/api/v2/epochs",
    filters={},
    stream_path="/api/v2/stream/epochs",
    stream_filters={},
    export_path="/api/v2/export/epochs",
)


FUNDING_PAYMENTS: Resource[FundingPayment, FundingPayment] = Resource(
    name="funding_payments",
    event="fundingPayments",
    path="/api/v2/funding-payments",
    filters={
        "party_id": "partyId",
        "market_id": "marketId",
        "start": "dateRange.startTimestamp",
        "end": "dateRange.endTimestamp",
    },
    stream_path="/api/v2/stream/funding-payments",
    stream_filters={"party_id": "partyId", "market_id": "marketId"},
    export_path="/api/v2/export/funding-payments",
)


FUNDING_PERIOD_DATA_POINTS: Resource[FundingPeriodDataPoint, FundingPeriodDataPoint] = Resource(
    name="funding_period_data_points",
    event="fundingPeriodDataPoints",
    path="/api/v2/funding-periods/data-points/:marketId",
    filters={
        "market_id": "marketId",
        "source": "source",
        "seq": "seq",
        "start": "dateRange.startTimestamp",
        "end": "dateRange.endTimestamp",
    },
    stream_path="/api/v2/stream/funding-period-data-points",
    stream_filters={"market_id": "marketId", "source": "source", "seq": "seq"},
    export_path="/api/v2/export/funding-period-data-points",
)


FUNDING_PERIODS: Resource[FundingPeriod, FundingPeriod] = Resource(
    name="funding_periods",
    event="fundingPeriods",
    path="/api/v2/funding-periods/:marketId",
    filters={
        "market_id": "marketId",
        "start": "dateRange.startTimestamp",
        "end": "dateRange.endTimestamp",
    },
    stream_path="/api/v2/stream/funding-periods",
    stream_filters={"market_id": "marketId"},
    export_path="/api/v2/export/funding-periods",
)


INSTRUMENTS: Resource[Instrument, Instrument] = Resource(
    name="instruments",
    event="instruments",
    path="/api/v2/instruments",
    filters={"market_id": "marketId"},
    stream_path="/api/v2/stream/instruments",
    stream_filters={"market_id": "marketId"},
    export_path="/api/v2/export/instruments",
)


LIQUIDITY_PROVIDER_HISTORY: Resource[LiquidityProviderEpoch, LiquidityProviderEpoch] = Resource(
    name="liquidity_provider_history",
    event="liquidityProviderHistory",
    path="/api/v2/liquidity/provider-history",
    filters={
        "market_id": "marketId",
        "party_id": "partyId",
        "start": "dateRange.startTimestamp",
        "end": "dateRange.endTimestamp",
    },
    stream_path="/api/v2/stream/liquidity-provider-history",
    stream_filters={"market_id": "marketId", "party_id": "partyId"},
    export_path="/api/v2/export/liquidity-provider-history",
)


LIQUIDITY_PROVIDERS: Resource[LiquidityProvider, LiquidityProvider] = Resource(
    name="liquidity_providers",
    event="liquidityProviders",
    path="/api/v2/liquidity/providers",
    filters={"market_id": "marketId", "party_id": "partyId"},
    stream_path="/api/v2/stream/liquidity-providers",
    stream_filters={"market_id": "marketId", "party_id": "partyId"},
    export_path="/api/v2/export/liquidity-providers",
)


PAID_LIQUIDITY_FEES_STATS: Resource[PaidLiquidityFees, PaidLiquidityFees] = Resource(
    name="paid_liquidity_fees_stats",
    event="paidLiquidityFeesStats",
    path="/api/v2/liquidity/paidfees",
    filters={
        "asset_id": "assetId",
        "market_id": "marketId",
        "epoch_seq": "epochSeq",
        "epoch_from": "epochFrom",
        "epoch_to": "epochTo",
        "party_ids": "partyIds",
    },
    stream_path="/api/v2/stream/paid-liquidity-fees-stats",
    stream_filters={
        "asset_id": "assetId",
        "market_id": "marketId",
        "epoch_seq": "epochSeq",
        "epoch_from": "epochFrom",
        "epoch_to": "epochTo",
        "party_ids": "partyIds",
    },
    export_path="/api/v2/export/paid-liquidity-fees-stats",
)


MARKET_SUMMARIES: Resource[MarketSummary, MarketSummaryChange] = Resource(
    name="market_summaries",
    event="marketSummaries",
    path="/api/v2/market-summaries",
    filters={"market_id": "marketId"},
    stream_path="/api/v2/stream/market-summaries",
    stream_filters={},
    export_path=None,
)


BY_NAME: Mapping[str, Resource[Any, Any]] = {
    "auctions": AUCTIONS,
    "checkpoints": CHECKPOINTS,
    "epochs": EPOCHS,
    "funding_payments": FUNDING_PAYMENTS,
    "funding_period_data_points": FUNDING_PERIOD_DATA_POINTS,
    "funding_periods": FUNDING_PERIODS,
    "instruments": INSTRUMENTS,
    "liquidity_provider_history": LIQUIDITY_PROVIDER_HISTORY,
    "liquidity_providers": LIQUIDITY_PROVIDERS,
    "paid_liquidity_fees_stats": PAID_LIQUIDITY_FEES_STATS,
    "market_summaries": MARKET_SUMMARIES,
}
"""All lists."""


class ResourceMethods:
    """The methods of every list, page, report, stream and export of rows. See `Client`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def auctions(
        self,
        *,
        page_size: int = PAGE_SIZE,
        newest_first: bool = True,
        after: str | None = None,
        **filters: Unpack[AuctionFilters],
    ) -> Iterator[Auction]:
        """List the auctions of markets.

        Filters: market_id, start, end.
        """
        return walk_pages(
            self._connection,
            AUCTIONS,
            filters,
            page_size=page_size,
            newest_first=newest_first,
            after=after,
        )

    def auctions_page(
        self,
        *,
        first: int | None = None,
        after: str | None = None,
        last: int | None = None,
        before: str | None = None,
        newest_first: bool = True,
        **filters: Unpack[AuctionFilters],
    ) -> Page[Auction]:
        """One page of `auctions`."""
        return read_page(
            self._connection,
            AUCTIONS,
            filters,
            first=first,
            after=after,
            last=last,
            before=before,
            newest_first=newest_first,
        )

    def checkpoints(
        self,
        *,
        page_size: int = PAGE_SIZE,
        newest_first: bool = True,
        after: str | None = None,
    ) -> Iterator[Checkpoint]:
        """List the checkpoints of the network."""
        return walk_pages(
            self._connection,
            CHECKPOINTS,
            {},
            page_size=page_size,
            newest_first=newest_first,
            after=after,
        )

    def checkpoints_page(
        self,
        *,
        first: int | None = None,
        after: str | None = None,
        last: int | None = None,
        before: str | None = None,
        newest_first: bool = True,
    ) -> Page[Checkpoint]:
        """One page of `checkpoints`."""
        return read_page(
            self._connection,
            CHECKPOINTS,
            {},
            first=first,
            after=after,
            last=last,
            before=before,
            newest_first=newest_first,
        )

    def epochs(
        self,
        *,
        page_size: int = PAGE_SIZE,
        newest_first: bool = True,
        after: str | None = None,
    ) -> Iterator[Epoch]:
        """List the epochs of the network."""
        return walk_pages(
            self._connection,
            EPOCHS,
            {},
            page_size=page_size,
            newest_first=newest_first,
            after=after,
        )

    def epochs_page(
        self,
        *,
        first: int | None = None,
        after: str | None = None,
        last: int | None = None,
        before: str | None = None,
        newest_first: bool = True,
    ) -> Page[Epoch]:
        """One page of `epochs`."""
        return read_page(
            self._connection,
            EPOCHS,
            {},
            first=first,
            after=after,
            last=last,
            before=before,
            newest_first=newest_first,
        )

    def funding_payments(
        self,
        *,
        page_size: int = PAGE_SIZE,
        newest_first: bool = True,
        after: str | None = None,
        **filters: Unpack[FundingPaymentFilters],
    ) -> Iterator[FundingPayment]:
        """List the funding payments of a party.

        Filters: party_id (required), market_id, start, end.
        """
        return walk_pages(
            self._connection,
            FUNDING_PAYMENTS,
            filters,
            page_size=page_size,
            newest_first=newest_first,
            after=after,
        )

    def funding_payments_page(
        self,
        *,
        first: int | None = None,
        after: str | None = None,
        last: int | None = None,
        before: str | None = None,
        newest_first: bool = True,
        **filters: Unpack[FundingPaymentFilters],
    ) -> Page[FundingPayment]:
        """One page of `funding_payments`."""
        return read_page(
            self._connection,
            FUNDING_PAYMENTS,
            filters,
            first=first,
            after=after,
            last=last,
            before=before,
            newest_first=newest_first,
        )

    def funding_period_data_points(
        self,
        *,
        page_size: int = PAGE_SIZE,
        newest_first: bool = True,
        after: str | None = None,
        **filters: Unpack[FundingPeriodDataPointFilters],
    ) -> Iterator[FundingPeriodDataPoint]:
        """List the data points of a perpetual market's funding periods.

        Filters: market_id (required), source, seq, start, end.
        """
        return walk_pages(
            self._connection,
            FUNDING_PERIOD_DATA_POINTS,
            filters,
            page_size=page_size,
            newest_first=newest_first,
            after=after,
        )

    def funding_period_data_points_page(
        self,
        *,
        first: int | None = None,
        after: str | None = None,
        last: int | None = None,
        before: str | None = None,
        newest_first: bool = True,
        **filters: Unpack[FundingPeriodDataPointFilters],
    ) -> Page[FundingPeriodDataPoint]:
        """One page of `funding_period_data_points`."""
        return read_page(
            self._connection,
            FUNDING_PERIOD_DATA_POINTS,
            filters,
            first=first,
            after=after,
            last=last,
            before=before,
            newest_first=newest_first,
        )

    def funding_periods(
        self,
        *,
        page_size: int = PAGE_SIZE,
        newest_first: bool = True,
        after: str | None = None,
        **filters: Unpack[FundingPeriodFilters],
    ) -> Iterator[FundingPeriod]:
        """List the funding periods of a perpetual market.

        Filters: market_id (required), start, end.
        """
        return walk_pages(
            self._connection,
            FUNDING_PERIODS,
            filters,
            page_size=page_size,
            newest_first=newest_first,
            after=after,
        )

    def funding_periods_page(
        self,
        *,
        first: int | None = None,
        after: str | None = None,
        last: int | None = None,
        before: str | None = None,
        newest_first: bool = True,
        **filters: Unpack[FundingPeriodFilters],
    ) -> Page[FundingPeriod]:
        """One page of `funding_periods`."""
        return read_page(
            self._connection,
            FUNDING_PERIODS,
            filters,
            first=first,
            after=after,
            last=last,
            before=before,
            newest_first=newest_first,
        )

    def instruments(
        self,
        *,
        page_size: int = PAGE_SIZE,
        newest_first: bool = True,
        after: str | None = None,
        **filters: Unpack[InstrumentFilters],
    ) -> Iterator[Instrument]:
        """List the names, decimals and terms of markets.

        Filters: market_id.
        """
        return walk_pages(
            self._connection,
            INSTRUMENTS,
            filters,
            page_size=page_size,
            newest_first=newest_first,
            after=after,
        )

    def instruments_page(
        self,
        *,
        first: int | None = None,
        after: str | None = None,
        last: int | None = None,
        before: str | None = None,
        newest_first: bool = True,
        **filters: Unpack[InstrumentFilters],
    ) -> Page[Instrument]:
        """One page of `instruments`."""
        return read_page(
            self._connection,
            INSTRUMENTS,
            filters,
            first=first,
            after=after,
            last=last,
            before=before,
            newest_first=newest_first,
        )

    def liquidity_provider_history(
        self,
        *,
        page_size: int = PAGE_SIZE,
        newest_first: bool = True,
        after: str | None = None,
        **filters: Unpack[LiquidityProviderEpochFilters],
    ) -> Iterator[LiquidityProviderEpoch]:
        """List the performance of liquidity providers, by epoch.

        Filters: market_id, party_id, start, end; at least one of market_id and party_id.
        """
        return walk_pages(
            self._connection,
            LIQUIDITY_PROVIDER_HISTORY,
            filters,
            page_size=page_size,
            newest_first=newest_first,
            after=after,
        )

    def liquidity_provider_history_page(
        self,
        *,
        first: int | None = None,
        after: str | None = None,
        last: int | None = None,
        before: str | None = None,
        newest_first: bool = True,
        **filters: Unpack[LiquidityProviderEpochFilters],
    ) -> Page[LiquidityProviderEpoch]:
        """One page of `liquidity_provider_history`."""
        return read_page(
            self._connection,
            LIQUIDITY_PROVIDER_HISTORY,
            filters,
            first=first,
            after=after,
            last=last,
            before=before,
            newest_first=newest_first,
        )

    def liquidity_providers(
        self,
        *,
        page_size: int = PAGE_SIZE,
        newest_first: bool = True,
        after: str | None = None,
        **filters: Unpack[LiquidityProviderFilters],
    ) -> Iterator[LiquidityProvider]:
        """List the liquidity providers of a market or a party.

        Filters: market_id, party_id; at least one of market_id and party_id.
        """
        return walk_pages(
            self._connection,
            LIQUIDITY_PROVIDERS,
            filters,
            page_size=page_size,
            newest_first=newest_first,
            after=after,
        )

    def liquidity_providers_page(
        self,
        *,
        first: int | None = None,
        after: str | None = None,
        last: int | None = None,
        before: str | None = None,
        newest_first: bool = True,
        **filters: Unpack[LiquidityProviderFilters],
    ) -> Page[LiquidityProvider]:
        """One page of `liquidity_providers`."""
        return read_page(
            self._connection,
            LIQUIDITY_PROVIDERS,
            filters,
            first=first,
            after=after,
            last=last,
            before=before,
            newest_first=newest_first,
        )

    def paid_liquidity_fees_stats(
        self,
        *,
        page_size: int = PAGE_SIZE,
        newest_first: bool = True,
        after: str | None = None,
        **filters: Unpack[PaidLiquidityFeesFilters],
    ) -> Iterator[PaidLiquidityFees]:
        """List the liquidity fees that markets paid, by epoch.

        Filters: asset_id, market_id, epoch_seq, epoch_from, epoch_to, party_ids.
        """
        return walk_pages(
            self._connection,
            PAID_LIQUIDITY_FEES_STATS,
            filters,
            page_size=page_size,
            newest_first=newest_first,
            after=after,
        )

    def paid_liquidity_fees_stats_page(
        self,
        *,
        first: int | None = None,
        after: str | None = None,
        last: int | None = None,
        before: str | None = None,
        newest_first: bool = True,
        **filters: Unpack[PaidLiquidityFeesFilters],
    ) -> Page[PaidLiquidityFees]:
        """One page of `paid_liquidity_fees_stats`."""
        return read_page(
            self._connection,
            PAID_LIQUIDITY_FEES_STATS,
            filters,
            first=first,
            after=after,
            last=last,
            before=before,
            newest_first=newest_first,
        )

    def market_summaries(
        self,
        *,
        page_size: int = PAGE_SIZE,
        newest_first: bool = True,
        after: str | None = None,
        **filters: Unpack[MarketSummaryFilters],
    ) -> Iterator[MarketSummary]:
        """List the markets with a summary of each.

        Filters: market_id.
        """
        return walk_pages(
            self._connection,
            MARKET_SUMMARIES,
            filters,
            page_size=page_size,
            newest_first=newest_first,
            after=after,
        )

    def market_summaries_page(
        self,
        *,
        first: int | None = None,
        after: str | None = None,
        last: int | None = None,
        before: str | None = None,
        newest_first: bool = True,
        **filters: Unpack[MarketSummaryFilters],
    ) -> Page[MarketSummary]:
        """One page of `market_summaries`."""
        return read_page(
            self._connection,
            MARKET_SUMMARIES,
            filters,
            first=first,
            after=after,
            last=last,
            before=before,
            newest_first=newest_first,
        )

    def coverage(
        self,
        *,
        after: str | None = None,
        market_id: str | None = None,
    ) -> Coverage:
        """List stored blocks, gaps and row counts.

        after: `next` of an earlier response, to get the rest.
        market_id: Only rows of this market: 64 hex digits, in either case.
        """
        answer: Coverage = read_report(
            self._connection,
            "/api/v2/coverage",
            {
                "after": after,
                "marketId": market_id,
            },
            is_body=False,
        )
        return answer

    def funding_estimate(
        self,
        market_id: str,
    ) -> FundingEstimate | None:
        """Get the estimated payment of a market's running funding period."""
        answer: FundingEstimate | None = read_report(
            self._connection,
            f"/api/v2/funding-estimates/{path_part(market_id)}",
            {},
            is_body=False,
        )
        return answer

    def funding_estimate_history(
        self,
        market_id: str,
        *,
        end: Time | None = None,
        start: Time | None = None,
        after: str | None = None,
        first: int | None = None,
    ) -> FundingEstimateHistoryAnswer:
        """Get what a market's funding periods would have paid, over time.

        end: Estimates before this time, Unix nanoseconds; at most 31 days after the start. Default: up to
            the last block.
        start: Estimates at or after this time, Unix nanoseconds. Default: 31 days before the end.
        after: `next` of an earlier response: returns the estimates that follow.
        first: Maximum number of estimates to return. Default: 1000.
        """
        answer: FundingEstimateHistoryAnswer = read_report(
            self._connection,
            f"/api/v2/funding-estimates/{path_part(market_id)}/history",
            {
                "dateRange.endTimestamp": end,
                "dateRange.startTimestamp": start,
                "pagination.after": after,
                "pagination.first": first,
            },
            is_body=True,
        )
        return answer

    def position_funding(
        self,
        market_id: str,
        *,
        start: Time | None = None,
        end: Time | None = None,
        first: int | None = None,
        after: str | None = None,
        units: str | None = None,
    ) -> PositionFunding:
        """Calculate the funding payments of a position over a time range.

        start: Periods that ended at or after this time, Unix nanoseconds.
        end: Periods that ended before this time, Unix nanoseconds.
        first: Maximum number of payments to return; 0: totals alone. Default: 1000.
        after: `next` of an earlier response: returns the payments that follow, without totals.
        units: Position size in whole units. Negative for a short position.
        """
        answer: PositionFunding = read_report(
            self._connection,
            f"/api/v2/position-funding/{path_part(market_id)}",
            {
                "dateRange.startTimestamp": start,
                "dateRange.endTimestamp": end,
                "pagination.first": first,
                "pagination.after": after,
                "units": units,
            },
            is_body=False,
        )
        return answer

    def party_funding(
        self,
        party_id: str,
        *,
        end: Time | None = None,
        start: Time | None = None,
        interval: Literal["1d", "1w", "1M", "all"] | None = None,
        market_id: str | None = None,
    ) -> PartyFundingAnswer:
        """Add up the funding payments of a party by market, and by day, week or month.

        end: Payments before this time, Unix nanoseconds.
        start: Payments at or after this time, Unix nanoseconds.
        interval: Adds the sums of each day, week (from Monday) or month, in UTC.
        market_id: Only payments of this market.
        """
        answer: PartyFundingAnswer = read_report(
            self._connection,
            f"/api/v2/party-funding/{path_part(party_id)}",
            {
                "dateRange.endTimestamp": end,
                "dateRange.startTimestamp": start,
                "interval": interval,
                "marketId": market_id,
            },
            is_body=True,
        )
        return answer

    def party_statement(
        self,
        party_id: str,
        *,
        end: Time | None = None,
        start: Time | None = None,
    ) -> PartyStatementAnswer:
        """Get a statement of the funding payments, liquidity fees and fee penalties of a party.

        end: Rows before this time, Unix nanoseconds.
        start: Rows at or after this time, Unix nanoseconds.
        """
        answer: PartyStatementAnswer = read_report(
            self._connection,
            f"/api/v2/party-statements/{path_part(party_id)}",
            {
                "dateRange.endTimestamp": end,
                "dateRange.startTimestamp": start,
            },
            is_body=True,
        )
        return answer

    def funding_leaders(
        self,
        *,
        end: Time | None = None,
        start: Time | None = None,
        asset_id: str | None = None,
        market_id: str | None = None,
        order: Literal["net", "received", "paid"] | None = None,
        first: int | None = None,
    ) -> FundingLeadersAnswer:
        """List the parties that received or paid most funding.

        end: Payments before this time, Unix nanoseconds.
        start: Payments at or after this time, Unix nanoseconds.
        asset_id: Only payments of the markets that settle in this asset: amounts of different ones do not
            add up.
        market_id: Only payments of this market. Either this or `assetId` must be given.
        order: By what parties are ordered, the greatest first.
        first: Maximum number of parties to return. Default: 20.
        """
        answer: FundingLeadersAnswer = read_report(
            self._connection,
            "/api/v2/funding-leaders",
            {
                "dateRange.endTimestamp": end,
                "dateRange.startTimestamp": start,
                "assetId": asset_id,
                "marketId": market_id,
                "order": order,
                "pagination.first": first,
            },
            is_body=True,
        )
        return answer

    def funding_rates(
        self,
        *,
        end: Time | None = None,
        start: Time | None = None,
        interval: Literal["8h", "1d"] | None = None,
        market_id: str | None = None,
        after: str | None = None,
        before: str | None = None,
        first: int | None = None,
        last: int | None = None,
        newest_first: bool | None = None,
    ) -> FundingRates:
        """Sum funding rates of markets by day or by 8 hours.

        end: Periods that ended before this time, Unix nanoseconds. Default: up to the last block.
        start: Periods that ended at or after this time, Unix nanoseconds. Default: 30 days (`1d`) or 7
            days (`8h`) before the end. The range is widened to whole buckets.
        interval: Length of a bucket.
        market_id: Only rows of this market.
        after: Page forward: the cursor of the last row of the previous page. Cannot be combined with
            `pagination.before`.
        before: Page backward: the cursor of the first row of the following page. Ignored if
            `pagination.first` is given.
        first: Maximum number of rows to return, starting after `pagination.after` or at the beginning.
            Default: 1000.
        last: Maximum number of rows to return, ending before `pagination.before` or at the end. Default:
            1000. Ignored if `pagination.first` is given.
        newest_first: Sort the newest rows first. `1`, `t`, `0`, `f` and similar are also accepted.
        """
        answer: FundingRates = read_report(
            self._connection,
            "/api/v2/funding-rates",
            {
                "dateRange.endTimestamp": end,
                "dateRange.startTimestamp": start,
                "interval": interval,
                "marketId": market_id,
                "pagination.after": after,
                "pagination.before": before,
                "pagination.first": first,
                "pagination.last": last,
                "pagination.newestFirst": newest_first,
            },
            is_body=False,
        )
        return answer

    def series(
        self,
        market_id: str,
        *,
        start: Time | None = None,
        end: Time | None = None,
        buckets: int | None = None,
        interval: SeriesInterval | None = None,
        source: DataPointSource | None = None,
    ) -> Series:
        """Get the prices and TWAPs of a market in time buckets, for a chart.

        start: Rows at or after this time, Unix nanoseconds.
        end: Rows before this time, Unix nanoseconds.
        buckets: Maximum number of buckets; the shortest interval that fits is used. Default: 500. Cannot
            be combined with `interval`.
        interval: Length of a bucket; the range may touch at most 2,001 buckets. Cannot be combined with
            `buckets`.
        source: Only rows of this source: SOURCE_EXTERNAL or SOURCE_INTERNAL; SOURCE_UNSPECIFIED means
            all.
        """
        answer: Series = read_report(
            self._connection,
            f"/api/v2/series/funding-period-data-points/{path_part(market_id)}",
            {
                "dateRange.startTimestamp": start,
                "dateRange.endTimestamp": end,
                "buckets": buckets,
                "interval": interval,
                "source": source,
            },
            is_body=False,
        )
        return answer

    def market_auctions(
        self,
        market_id: str,
        *,
        start: Time | None = None,
        end: Time | None = None,
    ) -> MarketAuctions:
        """List when a market was in auction.

        start: Auctions that end after this time or are in progress at it, Unix nanoseconds.
        end: Auctions that began before this time, Unix nanoseconds.
        """
        answer: MarketAuctions = read_report(
            self._connection,
            f"/api/v2/auctions/{path_part(market_id)}",
            {
                "dateRange.startTimestamp": start,
                "dateRange.endTimestamp": end,
            },
            is_body=False,
        )
        return answer

    def liquidity_standing(
        self,
        *,
        market_id: str | None = None,
        party_id: str | None = None,
    ) -> LiquidityStandingAnswer:
        """Get how liquidity providers stand in the running epoch.

        market_id: Only rows of this market. At least one of `marketId` and `partyId` must be given.
        party_id: Only rows of this party. At least one of `marketId` and `partyId` must be given.
        """
        answer: LiquidityStandingAnswer = read_report(
            self._connection,
            "/api/v2/liquidity/standing",
            {
                "marketId": market_id,
                "partyId": party_id,
            },
            is_body=True,
        )
        return answer

    @overload
    def follow(
        self,
        resource: Literal["auctions"],
        *,
        after: str | None = None,
        after_block: int | str | None = None,
        **filters: Unpack[StreamFilters],
    ) -> Stream[Auction]: ...

    @overload
    def follow(
        self,
        resource: Literal["checkpoints"],
        *,
        after: str | None = None,
        after_block: int | str | None = None,
    ) -> Stream[Checkpoint]: ...

    @overload
    def follow(
        self,
        resource: Literal["epochs"],
        *,
        after: str | None = None,
        after_block: int | str | None = None,
    ) -> Stream[Epoch]: ...

    @overload
    def follow(
        self,
        resource: Literal["funding_payments"],
        *,
        after: str | None = None,
        after_block: int | str | None = None,
        **filters: Unpack[StreamFilters],
    ) -> Stream[FundingPayment]: ...

    @overload
    def follow(
        self,
        resource: Literal["funding_period_data_points"],
        *,
        after: str | None = None,
        after_block: int | str | None = None,
        **filters: Unpack[StreamFilters],
    ) -> Stream[FundingPeriodDataPoint]: ...

    @overload
    def follow(
        self,
        resource: Literal["funding_periods"],
        *,
        after: str | None = None,
        after_block: int | str | None = None,
        **filters: Unpack[StreamFilters],
    ) -> Stream[FundingPeriod]: ...

    @overload
    def follow(
        self,
        resource: Literal["instruments"],
        *,
        after: str | None = None,
        after_block: int | str | None = None,
        **filters: Unpack[StreamFilters],
    ) -> Stream[Instrument]: ...

    @overload
    def follow(
        self,
        resource: Literal["liquidity_provider_history"],
        *,
        after: str | None = None,
        after_block: int | str | None = None,
        **filters: Unpack[StreamFilters],
    ) -> Stream[LiquidityProviderEpoch]: ...

    @overload
    def follow(
        self,
        resource: Literal["liquidity_providers"],
        *,
        after: str | None = None,
        after_block: int | str | None = None,
        **filters: Unpack[StreamFilters],
    ) -> Stream[LiquidityProvider]: ...

    @overload
    def follow(
        self,
        resource: Literal["paid_liquidity_fees_stats"],
        *,
        after: str | None = None,
        after_block: int | str | None = None,
        **filters: Unpack[StreamFilters],
    ) -> Stream[PaidLiquidityFees]: ...

    @overload
    def follow(
        self,
        resource: Literal["market_summaries"],
        *,
        on_complete: Callable[[], None] | None = None,
    ) -> Stream[MarketSummaryChange]: ...

    def follow(
        self,
        resource: str,
        *,
        after: str | None = None,
        after_block: int | str | None = None,
        on_complete: Callable[[], None] | None = None,
        **filters: Any,
    ) -> Stream[Any]:
        """Each row of a resource as it arrives, and again whenever it changes; by default from now on.

        Of market summaries: first each market's whole summary, on each connection, then the parts that
        change. See `Stream`.

        after: The `position` of an earlier stream, or the cursor of a row of a page: rows after it follow.
        after_block: A block's height, such as a page's `block_height`: rows of later blocks follow.
        on_complete: Called once all summaries of markets have been given, on each connection.

        Filters are those of the list, without times; `market_id` is optional.
        """
        return follow_stream(
            self._connection,
            named(BY_NAME, resource),
            filters,
            after=after,
            after_block=after_block,
            on_complete=on_complete,
        )

    @overload
    def export_rows(
        self,
        resource: Literal["auctions"],
        *,
        after: str | None = None,
        newest_first: bool = False,
        **filters: Unpack[ExportFilters],
    ) -> Iterator[PageRow[Auction]]: ...

    @overload
    def export_rows(
        self,
        resource: Literal["checkpoints"],
        *,
        after: str | None = None,
        newest_first: bool = False,
    ) -> Iterator[PageRow[Checkpoint]]: ...

    @overload
    def export_rows(
        self,
        resource: Literal["epochs"],
        *,
        after: str | None = None,
        newest_first: bool = False,
    ) -> Iterator[PageRow[Epoch]]: ...

    @overload
    def export_rows(
        self,
        resource: Literal["funding_payments"],
        *,
        after: str | None = None,
        newest_first: bool = False,
        **filters: Unpack[ExportFilters],
    ) -> Iterator[PageRow[FundingPayment]]: ...

    @overload
    def export_rows(
        self,
        resource: Literal["funding_period_data_points"],
        *,
        after: str | None = None,
        newest_first: bool = False,
        **filters: Unpack[ExportFilters],
    ) -> Iterator[PageRow[FundingPeriodDataPoint]]: ...

    @overload
    def export_rows(
        self,
        resource: Literal["funding_periods"],
        *,
        after: str | None = None,
        newest_first: bool = False,
        **filters: Unpack[ExportFilters],
    ) -> Iterator[PageRow[FundingPeriod]]: ...

    @overload
    def export_rows(
        self,
        resource: Literal["instruments"],
        *,
        after: str | None = None,
        newest_first: bool = False,
        **filters: Unpack[ExportFilters],
    ) -> Iterator[PageRow[Instrument]]: ...

    @overload
    def export_rows(
        self,
        resource: Literal["liquidity_provider_history"],
        *,
        after: str | None = None,
        newest_first: bool = False,
        **filters: Unpack[ExportFilters],
    ) -> Iterator[PageRow[LiquidityProviderEpoch]]: ...

    @overload
    def export_rows(
        self,
        resource: Literal["liquidity_providers"],
        *,
        after: str | None = None,
        newest_first: bool = False,
        **filters: Unpack[ExportFilters],
    ) -> Iterator[PageRow[LiquidityProvider]]: ...

    @overload
    def export_rows(
        self,
        resource: Literal["paid_liquidity_fees_stats"],
        *,
        after: str | None = None,
        newest_first: bool = False,
        **filters: Unpack[ExportFilters],
    ) -> Iterator[PageRow[PaidLiquidityFees]]: ...

    def export_rows(
        self,
        resource: str,
        *,
        after: str | None = None,
        newest_first: bool = False,
        **filters: Any,
    ) -> Iterator[PageRow[Any]]:
        """All rows of a resource in one request, each with its cursor; without market_id of all markets.

        All are from one block. If the connection breaks, LyraConnectionError names the cursor to go on after.
        """
        return read_export(
            self._connection, named(BY_NAME, resource), filters, after=after, newest_first=newest_first
        )
