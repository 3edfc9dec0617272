// Connections that pull, on the edge that stays: what came is received like a webhook, and answered by the same table.
import type { Assembled } from '../assemble.ts'
import { receivedAnswer } from '../http/hook.ts'
import { failureAnswer } from '../http/status.ts'
import { type RunningSources, runSources, type SourceState } from '../inbound/sources.ts'

export type NodeSources = {
  readonly start: () => void
  readonly signs: () => readonly SourceState[]
  readonly stop: () => Promise<void>
}

export function createNodeSources({ gateway, deps, sources }: Assembled): NodeSources {
  let running: RunningSources | undefined
  return {
    start() {
      running ??= runSources({
        ...deps,
        sources,
        receive: (at, arrival) => gateway.receive(at, arrival, true),
        answerOf: receivedAnswer,
        refusal: (error) => failureAnswer(error.code, error.message),
      })
    },
    signs: () => running?.signs() ?? [],
    stop: async () => running?.stop(),
  }
}
