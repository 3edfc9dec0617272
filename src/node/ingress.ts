// Ingress beside HTTP: connections that pull, connections that listen on a port of their own, and the health of all of them.
import type { Agent } from '../agents/define-agent.ts'
import type { AppDeps } from '../api/deps.ts'
import { errorCodeAnswer } from '../api/http-answers.ts'
import { acknowledgementAnswer, deliverInbound } from '../api/webhook.ts'
import type { Adapter, ProbeRequest, RawRequest } from '../contract/index.ts'
import type { IngressContext } from '../contract/optional-verbs.ts'
import type { Assembled } from '../gateway/assemble.ts'
import { type ListenerState, type RunningListeners, runListeners } from '../inbound/listeners.ts'
import { type RunningSources, runPolledSources, type SourceState } from '../inbound/sources.ts'
import { sourceAndListenerProblems } from '../observability/connection-health.ts'
import { type RunningProbes, runProbes } from '../observability/probes.ts'
import type { ReadinessDeps } from '../observability/readiness.ts'
import type { GatewayConnection } from '../turns/gateway-connection.ts'

export type NodeIngress = {
  /** Resolves when every port was tried once. */
  readonly start: () => Promise<void>
  /** What their adapters want said at the start, by connection. */
  readonly notices: ReadonlyMap<string, string>
  /** Connections that no other machine gets to. */
  readonly localOnly: ReadonlySet<string>
  readonly states: Required<Pick<ReadinessDeps, 'sources' | 'listeners' | 'connectionProbes' | 'modelProbes'>>
  /** By connection whose platform, and model whose server is asked: resolves when it is known how it stands. Empty before the start. */
  readonly probed: () => RunningProbes['first']
  readonly stop: () => Promise<void>
}

export type ProbeSchedule = {
  readonly everyMs: number
  /** Whose models are asked about. */
  readonly agents: readonly Pick<Agent, 'modelProbes'>[]
  /** Milliseconds since the last message of a connection was stored; null: none. */
  readonly inboundAges: () => Promise<ReadonlyMap<string, number | null>>
  /** Where the gateway's public URL leads. */
  readonly publicUrl: NonNullable<ProbeRequest['publicUrl']>
  /** What is known so soon is told to the person who starts the gateway, and is not logged too. */
  readonly reportWithinMs?: number
}

export function createNodeIngress(
  assembled: Assembled,
  rejections: AppDeps['rejections'],
  { everyMs, agents, inboundAges, publicUrl, reportWithinMs = 0 }: ProbeSchedule,
): NodeIngress {
  const { gateway, deps } = assembled
  let probes: RunningProbes | undefined
  let models: RunningProbes | undefined
  const sources = createNodePollingSources(assembled)
  const listeners = createNodeListeners(assembled, rejections)
  return {
    start() {
      sources.start()
      // Whether its port is open is a part of how a connection stands.
      const opened = listeners.start()
      probes ??= runProbes({
        ...deps,
        everyMs,
        publicUrl,
        reportWithinMs,
        probed: gateway.connections.map(({ key, adapter }) => ({
          key,
          probe: wrapProbeToAwaitListener(adapter, opened),
        })),
        seenHere: (connection) => sourceAndListenerProblems(connection, sources.states(), listeners.states()),
        async lastInboundAt(connection) {
          const age = (await inboundAges()).get(connection) ?? null
          return age === null ? undefined : deps.now() - age
        },
      })
      const byName = new Map(agents.flatMap(({ modelProbes = [] }) => modelProbes.map((each) => [each.name, each])))
      models ??= runProbes({
        ...deps,
        everyMs,
        reportWithinMs,
        about: 'model' as const,
        probed: [...byName.values()].map(({ name, probe }) => ({ key: `model ${name}`, probe })),
        seenHere: () => [],
        lastInboundAt: async () => undefined,
      })
      return opened
    },
    probed: () => new Map([...(probes?.first ?? []), ...(models?.first ?? [])]),
    notices: new Map(
      gateway.connections.flatMap(({ key, adapter: { notice } }) =>
        notice === undefined ? [] : [[key, notice] as const],
      ),
    ),
    localOnly: new Set(gateway.connections.flatMap(({ key, adapter }) => (adapter.isLocalOnly === true ? [key] : []))),
    states: {
      sources: sources.states,
      listeners: listeners.states,
      connectionProbes: () => probes?.states() ?? [],
      modelProbes: () => models?.states() ?? [],
    },
    async stop() {
      await Promise.all([sources.stop(), listeners.stop(), probes?.stop(), models?.stop()])
    },
  }
}

function wrapProbeToAwaitListener(adapter: Adapter, opened: Promise<void>): Adapter['probe'] {
  const probe = adapter.probe?.bind(adapter)
  if (probe === undefined || adapter.ingress?.listen === undefined) return probe
  return async (request) => {
    await opened
    return probe(request)
  }
}

// What a client sends to a listening connection is received like a webhook.

export type NodeListeners = {
  /** Resolves when every port was tried once. */
  readonly start: () => Promise<void>
  readonly states: () => readonly ListenerState[]
  readonly stop: () => Promise<void>
}

export function createNodeListeners(
  { gateway, deps }: Pick<Assembled, 'gateway' | 'deps'>,
  rejections: AppDeps['rejections'],
): NodeListeners {
  let running: RunningListeners | undefined
  const createIngressContext = (at: GatewayConnection): IngressContext => ({
    async receive(request: RawRequest) {
      const answer = await deliverInbound({ gateway, rejections }, at, request)
      if (deps.failpoint !== undefined) await deps.failpoint('before:answer')
      return answer
    },
  })
  return {
    start() {
      running ??= runListeners({ ...deps, ingressFor: createIngressContext })
      return running.tried
    },
    states: () => running?.states() ?? [],
    stop: async () => running?.stop(),
  }
}

// What a pull source brings is received like a webhook, and answered by the same table.

export type NodeSources = {
  readonly start: () => void
  readonly states: () => readonly SourceState[]
  readonly stop: () => Promise<void>
}

export function createNodePollingSources({ gateway, deps }: Assembled): NodeSources {
  let running: RunningSources | undefined
  return {
    start() {
      running ??= runPolledSources({
        ...deps,
        receive: (at, request) => gateway.receive(at, request, true),
        answerOf: acknowledgementAnswer,
        refusal: (error) => errorCodeAnswer(error.code, error.message),
      })
    },
    states: () => running?.states() ?? [],
    stop: async () => running?.stop(),
  }
}
