// Several models in order of preference: the next one answers while those before it are away. One that failed is left alone for a
// while and then tried again, by one request at a time.
import type { LanguageModel } from 'ai'
import { isGatewayError } from '../../contract/index.ts'
import type { Model, ModelTurn } from '../loop/model.ts'

export type NamedModel = {
  /** As an operator knows it; no address and no key. */
  readonly name: string
  readonly model: Model
}

/** Told when another model than the one before answers from now on. */
export type ModelSwitch = { readonly from: string; readonly to: string; readonly reason: string }

/** Until when each model is left alone, by its place. Shared by all runs of an agent. */
export type Breaker = { readonly restUntil: Map<number, number>; readonly monotonicMs: () => number }

const restMs = 60_000

/** Nothing about the request is wrong, but this model will not answer it. What is wrong with the request is so everywhere. */
const awayTypes: ReadonlySet<string> = new Set(['authentication', 'quota', 'not_found'])

export function createBreaker(monotonicMs: () => number): Breaker {
  return { restUntil: new Map(), monotonicMs }
}

export function modelName(model: LanguageModel | Model, place: number): string {
  if (typeof model === 'string') return model
  return typeof model === 'function' ? `model ${place + 1}` : `${model.provider}/${model.modelId}`
}

export function withFallback(
  models: readonly NamedModel[],
  { restUntil, monotonicMs }: Breaker,
  onSwitch: (change: ModelSwitch) => void,
): Model {
  const [only, ...others] = models
  if (only !== undefined && others.length === 0) return only.model
  const isResting = (place: number): boolean => monotonicMs() < (restUntil.get(place) ?? 0)
  return async (request) => {
    let hasShown = false
    const { onDelta } = request
    const passDelta = (delta: string): void => {
      hasShown = true
      onDelta?.(delta)
    }
    const watched = onDelta === undefined ? request : { ...request, onDelta: passDelta }
    const rested = [...models.entries()].filter(([place]) => !isResting(place))
    const order = rested.length === 0 ? [...models.entries()] : rested
    let last: (() => ModelTurn) | undefined
    for (const [index, [place, { name, model }]] of order.entries()) {
      const wasAway = restUntil.has(place)
      // While it is asked whether it is back, the others go on without it.
      if (wasAway) restUntil.set(place, monotonicMs() + restMs)
      const end = await tryModel(model, watched)
      if (end.kind === 'answered') {
        restUntil.delete(place)
        if (wasAway && place === 0) onSwitch({ from: models[1]?.name ?? '', to: name, reason: 'back' })
        return { ...end.turn, request_metadata: { ...end.turn.request_metadata, answered_by: name } }
      }
      restUntil.set(place, monotonicMs() + restMs)
      // An outage is worth waiting for; a refused key is told only where no model is merely away.
      if (last === undefined || end.kind === 'away') last = end.raise
      const next = order[index + 1]?.[1].name
      // Words of another model cannot follow words that were shown: the next try of the turn begins with it.
      if (hasShown || next === undefined) break
      if (!wasAway) onSwitch({ from: name, to: next, reason: end.reason })
    }
    if (last === undefined) throw new Error('there is no model to ask')
    return last()
  }
}

type Asked =
  | { readonly kind: 'answered'; readonly turn: ModelTurn }
  | { readonly kind: 'away' | 'refusing'; readonly reason: string; readonly raise: () => ModelTurn }

async function tryModel(model: Model, request: Parameters<Model>[0]): Promise<Asked> {
  try {
    const turn = await model(request)
    const reason = turn.failure?.type
    if (reason === undefined || !awayTypes.has(reason)) return { kind: 'answered', turn }
    return { kind: 'refusing', reason, raise: () => turn }
  } catch (error) {
    if (request.signal.aborted || !isGatewayError(error, 'provider_unavailable')) throw error
    const raise = (): never => {
      throw error
    }
    return { kind: 'away', reason: String(error.details['type'] ?? 'unavailable'), raise }
  }
}
