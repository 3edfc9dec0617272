// ctx.step: an effect that happens once (ruling 16). Started is committed before it, finished after it.
import { GatewayError, isGatewayError, type Json } from '../contract/index.ts'
import type { AgentContext, StepOptions } from './context.ts'
import type { JournalStore, StepAddress, StepEnd } from './journal-store.ts'
import { sortedJson } from './tools/canonical-json.ts'

export type StepDeps = {
  readonly journal: JournalStore
  readonly turn: Pick<StepAddress, 'conversationId' | 'epoch' | 'turnId' | 'parentTurn'>
  readonly assertHeld: () => void
  readonly isStopping: () => boolean
  readonly signal: AbortSignal
  readonly fetch: typeof fetch
  readonly hash: (text: string) => Promise<string>
  /** Somebody stopped the run: marks it here too, and says how the step ends. */
  readonly onStopped: (by: string) => GatewayError
  readonly failpoint?: (name: string) => void | Promise<void>
}

/**
 * Steps are told apart by their name and arguments, so that a member of a split turn finds what the merged turn did for
 * it; steps alike in both by how often they came before: the order of a replay is the order of the run.
 */
export function createStep(deps: StepDeps): AgentContext['step'] {
  const uses = new Map<string, number>()
  return async (name, work, options = {}) => {
    const what = JSON.stringify([name, options.args ?? null])
    const use = (uses.get(what) ?? 0) + 1
    uses.set(what, use)
    const address = await stepAddress(deps, name, use, options)
    if (deps.isStopping())
      throw new GatewayError('stopping', '[agent] stopped between two steps; the next holder goes on')
    const state = await deps.journal.begin(address, { isIdempotent: options.idempotent ?? false })
    switch (state.kind) {
      case 'run':
        return runStep(deps, { ...address, key: `${state.keyTurn ?? address.turnId}:${address.step}` }, work)
      case 'finished':
        // The journal holds what this very step returned; its type is the caller's.
        return sortedJson(state.result) as Awaited<ReturnType<typeof work>>
      case 'failed':
        throw new GatewayError('step_failed', `[agent] step ${name} failed before: ${state.error}`, {
          details: { step: name },
        })
      case 'unknown':
        throw new GatewayError(
          'tool_outcome_unknown',
          `[agent] step ${name} was interrupted; it may or may not have happened`,
          {
            details: { step: name },
          },
        )
      case 'stopped':
        throw deps.onStopped(state.by)
      case 'lease_lost':
        throw new GatewayError('lease_lost', '[agent] the lane has moved on to another holder; this turn stops here')
    }
  }
}

async function runStep<T extends Json>(
  deps: StepDeps,
  { key, ...address }: StepAddress & { readonly key: string },
  work: Parameters<AgentContext['step']>[1],
): Promise<T> {
  await deps.failpoint?.('before:effect')
  deps.assertHeld()
  let result: Json
  try {
    // The journal keeps no order of keys. What was just made must equal what a replay reads, also as text: a later step whose
    // arguments are made of it would be another step after a crash, and its effect would be made twice.
    result = sortedJson(await work({ key, signal: deps.signal, fetch: deps.fetch, assertHeld: deps.assertHeld }))
  } catch (error) {
    // Broken off by us, not failed by itself: whether it took effect is unknown, and the journal must go on saying so.
    deps.assertHeld()
    if (deps.signal.aborted) throw error
    await deps.journal.finish(address, stepFailure(error))
    throw error
  }
  await deps.failpoint?.('after:effect')
  const isWritten = await deps.journal.finish(address, { state: 'finished', result })
  if (!isWritten)
    throw new GatewayError('lease_lost', '[agent] the lane moved on while a step ran; its result was not recorded')
  return result as T
}

/** Two failures say that nothing happened: an outage, which the turn waits out, and a stop that broke off a model's answer. */
function stepFailure(error: unknown): StepEnd {
  const isUndone = isGatewayError(error, 'provider_unavailable') || isGatewayError(error, 'run_cancelled')
  const state = isUndone ? 'undone' : 'failed'
  return { state, error: error instanceof Error ? error.name : 'error' }
}

async function stepAddress(deps: StepDeps, name: string, use: number, options: StepOptions): Promise<StepAddress> {
  const argsHash = await deps.hash(JSON.stringify([name, options.args ?? null]))
  const step = options.args === undefined ? name : `${name}:${argsHash.slice(0, 16)}`
  const isNameOnly = options.args === undefined
  return { ...deps.turn, step: use === 1 ? step : `${step}#${use}`, argsHash, isNameOnly }
}
