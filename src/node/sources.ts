// Connections that pull, on the edge that stays: what came is received like a webhook, and answered by the same table.

import { failureAnswer } from '../api/http-answers.ts'
import { receivedAnswer } from '../api/webhook.ts'
import type { Assembled } from '../assemble.ts'
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
