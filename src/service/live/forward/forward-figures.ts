// The state of forwarding as metrics.
import type { Figure } from '../../metrics.ts'
import type { ForwardState } from './forward-state.ts'

export const FORWARD_COUNTERS: readonly Figure<ForwardState>[] = [
  ['forward_messages', 'Messages forwarded.', ({ messages }) => messages],
]

export const FORWARD_FIGURES: readonly Figure<ForwardState>[] = [
  ['forward_enabled', 'Whether events of the core are forwarded.', () => 1],
  [
    'forward_connected',
    'Whether the receiver of forwarded events is connected.',
    ({ connected }) => Number(connected),
  ],
  ['forward_stopped', 'Whether a fault prevents forwarding.', ({ failure }) => Number(failure !== null)],
  ['forward_messages', 'Messages forwarded since the start.', ({ messages }) => messages],
  [
    'forward_block_height',
    'Height of the last block forwarded; 0 before the first.',
    ({ height }) => Number(height ?? 0),
  ],
  ['forward_lag_bytes', 'Bytes of events not yet forwarded.', ({ lagBytes }) => lagBytes],
  ['forward_lag_blocks', 'Blocks not yet forwarded.', ({ lagBlocks }) => lagBlocks],
  [
    'forward_lag_seconds',
    'Seconds of block time between the last block forwarded and the newest one.',
    ({ lagSeconds }) => lagSeconds,
  ],
  [
    'forward_missing_blocks',
    'Blocks that the receiver of forwarded events must get from another source.',
    ({ missingCount }) => missingCount,
  ],
]
