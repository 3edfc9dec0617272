// The state that an agent shares with the program in front of a person, during one turn: read from what the program sent or from
// the session, told to clients that watch as it changes, and kept by the commit that ends the turn. A try that broke off leaves
// nothing behind, and the next one begins with the same state.

import type { SharedState } from '../agents/define-agent.ts'
import { maxClientDataBytes } from '../contract/index.ts'
import type { ClientData } from '../contract/message.ts'
import { type Fields, GatewayError, isJsonValue, isPlainObject, type Json } from '../lib/index.ts'

type Change = { readonly op: 'add' | 'replace' | 'remove'; readonly path: string; readonly value?: Json }

type TurnState = {
  readonly state: SharedState
  /** Tells a program that sent none, or an empty one, what is stored. */
  readonly begin: () => Promise<void>
  /** What to keep; undefined: it was not touched. */
  readonly ended: () => Promise<Json | undefined>
}

type StateDeps = {
  readonly client: ClientData | undefined
  readonly load: () => Promise<Json | undefined>
  readonly emit: (type: string, metadata: Fields) => void
}

export function createTurnState({ client, load, emit }: StateDeps): TurnState {
  const sent = client?.state
  let current: Promise<Json> | undefined
  let isTouched = sent !== undefined
  /** It was told whole in this run. Programs between agent and person may know nothing else, so changes alone come after that. */
  let isReported = false
  // A page that was just loaded has nothing to say about what was there before.
  const getSharedState = (): Promise<Json> => {
    current ??= isEmptyState(sent) ? load().then((stored) => stored ?? sent ?? {}) : Promise.resolve(sent ?? {})
    return current
  }
  const emitSnapshot = (snapshot: Json): void => {
    isReported = true
    emit('state_snapshot', { snapshot })
  }
  const writeSharedState = async (next: Json): Promise<void> => {
    const before = await getSharedState()
    const after = requireValidState(next)
    const delta = diffJson(before, after)
    isTouched = true
    if (delta.length === 0) return
    current = Promise.resolve(after)
    // A list of changes may be longer than what it changes.
    if (isReported && JSON.stringify(delta).length < JSON.stringify(after).length + 200) emit('state_delta', { delta })
    else emitSnapshot(after)
  }
  // One after the other: a change is told as what it changes of the one before.
  let writing = Promise.resolve()
  return {
    state: {
      get: async () => structuredClone(await getSharedState()),
      set(next) {
        const written = writing.then(() => writeSharedState(next))
        writing = written.catch(() => {})
        return written
      },
    },
    async begin() {
      if (sent === undefined || !isEmptyState(sent)) return
      const stored = await getSharedState()
      if (!isEmptyState(stored)) emitSnapshot(stored)
    },
    ended: async () => (isTouched ? ((await getSharedState()) ?? {}) : undefined),
  }
}

function isEmptyState(state: Json | undefined): boolean {
  return state === undefined || state === null || (isPlainObject(state) && Object.keys(state).length === 0)
}

/** A mistake of the agent's own, told to it: as JSON, and small enough to be sent along with every run. */
function requireValidState(next: Json): Json {
  if (!isJsonValue(next)) throw new GatewayError('state_invalid', '[agent] shared state must be JSON')
  const text = JSON.stringify(next)
  const bytes = new TextEncoder().encode(text).length
  if (bytes <= maxClientDataBytes) return JSON.parse(text)
  const limit = `[agent] shared state of ${bytes} bytes; at most ${maxClientDataBytes} are kept, so store the rest elsewhere`
  throw new GatewayError('state_too_large', limit, { details: { bytes } })
}

/** RFC 6902, by the keys of objects; any other value is replaced whole. */
function diffJson(before: Json, after: Json, path = ''): readonly Change[] {
  if (isPlainObject(before) && isPlainObject(after)) {
    const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])]
    return keys.flatMap((key) => {
      const at = `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`
      if (!Object.hasOwn(after, key)) return [{ op: 'remove' as const, path: at }]
      const value = after[key] as Json
      if (!Object.hasOwn(before, key)) return [{ op: 'add' as const, path: at, value }]
      return diffJson(before[key] as Json, value, at)
    })
  }
  return JSON.stringify(before) === JSON.stringify(after) ? [] : [{ op: 'replace', path, value: after }]
}
