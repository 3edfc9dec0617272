// A loopback platform whose arrivals the test judges itself: what a channel may say of an arrival beside taking it.
import type { NormalizeResult } from '../../../src/contract/adapter.ts'
import type { Adapter, ChannelDefinition, InboundEvent } from '../../../src/contract/index.ts'
import { type LoopbackEvent, loopbackClientId } from './index.ts'

/** Undefined: as the loopback channel judges it. */
export type Judge = (event: LoopbackEvent) => Exclude<NormalizeResult, { kind: 'read' }> | undefined

export type JudgedOptions = {
  readonly judge?: Judge
  /** What becomes of what was read. */
  readonly change?: (arrived: readonly InboundEvent[]) => readonly InboundEvent[]
  readonly adapter?: (adapter: Adapter) => Partial<Adapter>
}

export function judgedChannel({ judge, change, adapter: more }: JudgedOptions): ChannelDefinition {
  const create: ChannelDefinition['create'] = (settings, deps) => {
    const adapter = loopbackClientId.create(settings, deps)
    return {
      ...adapter,
      async receive(rawRequest, connection) {
        const judged = judge?.(JSON.parse(new TextDecoder().decode(rawRequest.bytes)) as LoopbackEvent)
        if (judged !== undefined) return judged
        const reception = await adapter.receive(rawRequest, connection)
        return reception.kind === 'read' && change !== undefined
          ? { kind: 'read', events: change(reception.events) }
          : reception
      },
      ...more?.(adapter),
    }
  }
  return { ...loopbackClientId, create }
}
