// All that accepting, running and delivering work with, as assembly makes it once per process.

import type { ReceiveServices } from '../inbound/receive-services.ts'
import type { SettlePolicy } from '../outbound/settle.ts'
import type { TurnServices } from '../turns/services.ts'
import type { Isolation } from '../turns/suspects.ts'

export type GatewayDeps = ReceiveServices &
  TurnServices & {
    /** Where turns run on which a process died; without it here, one at a time, and nothing beside them. */
    readonly isolation?: Isolation
    readonly settlePolicy: SettlePolicy
  }
