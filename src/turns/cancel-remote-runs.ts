// Cancels remote agents of a run that was stopped while no process ran it: its process died before it could tell them. The process
// that takes the turn up tells them. A process that dies here too leaves it to the next.

import type { TurnChain } from './call-chain.ts'
import type { GatewayDeps } from './deps.ts'
import type { Lease } from './leases.ts'
import type { ReadyTurn } from './prepare-turn.ts'
import { createRemoteAgentCaller } from './remote-agents.ts'
import type { RunControl } from './run-control.ts'

const patienceMs = 5_000

export type CancelRemoteContext = {
  readonly control: RunControl
  readonly chain: TurnChain
  readonly lease: Pick<Lease, 'isHeld' | 'untilHeld'>
  readonly signal: AbortSignal
}

/** A remote agent that cannot be told changes nothing about the stop. */
export async function recallRemotes(deps: GatewayDeps, ready: ReadyTurn, context: CancelRemoteContext): Promise<void> {
  const { turn, lane, journalTurn } = ready
  const calls = listUnfinishedCalls(await deps.journal.remoteSteps(journalTurn))
  const signal = AbortSignal.any([context.signal, AbortSignal.timeout(patienceMs)])
  await Promise.all(
    calls.map(async ({ prefix, opened, asked }) => {
      const agent = deps.agents.get(askedAgent(prefix) ?? lane.agent)
      if (agent?.cancelRemote === undefined) return
      const position = { agent: agent.slug, chain: context.chain, root: turn.id }
      const { fetch, guarded, next } = createRemoteAgentCaller(deps, context.lease, position)
      const hop = await next()
      const access = { fetch, guarded, headers: hop.ok ? hop.headers : {}, signal }
      const isReported = await agent.cancelRemote({ opened, asked }, access).then(
        () => true,
        () => false,
      )
      context.control.recorder.emit('remote_cancelled', { reported: isReported })
    }),
  )
}

type Steps = Awaited<ReturnType<GatewayDeps['journal']['remoteSteps']>>
type UnfinishedCall = { readonly prefix: string; readonly opened: unknown; readonly asked: unknown }

/** What was asked and not answered; the steps of one call share what stands before their names. */
function listUnfinishedCalls(steps: Steps): readonly UnfinishedCall[] {
  const prefixes = [...new Set(steps.map(({ step }) => stepPrefix(step)))]
  return prefixes.flatMap((prefix) => {
    const findRemoteStep = (name: string) => steps.find(({ step }) => step.startsWith(`${prefix}remote ${name}`))
    const [opened, asked, answer] = ['agent', 'message', 'answer'].map(findRemoteStep)
    const isOpen = opened?.result !== undefined && asked !== undefined && answer?.state !== 'finished'
    return isOpen
      ? [{ prefix, opened: opened.result, asked: asked.state === 'finished' ? asked.result : undefined }]
      : []
  })
}

function stepPrefix(step: string): string {
  return step.slice(0, step.lastIndexOf('/') + 1)
}

/** The last one that was asked on the way; undefined: the turn's own. */
function askedAgent(prefix: string): string | undefined {
  return prefix === '' ? undefined : prefix.split('/').at(-2)?.split(':')[0]
}
