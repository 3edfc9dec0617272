// Effects of a holder that was frozen longer than its lease, arriving after its successor's first effect.
import type { RecordedCall } from '../../src/testing/scripted-server.ts'
import type { Effect } from './tool-stub.ts'

/** When a process was frozen, by our clock. */
export type Freeze = { readonly pid: number; readonly from: number; readonly to: number }

/**
 * At the tool: an effect that belongs to a run begun before the freeze and arrives after it, though another holder has
 * acted in that conversation meanwhile; or one of an earlier attempt after one of a later attempt of the same turn.
 */
export function staleEffects(effects: readonly Effect[], freezes: readonly Freeze[]): readonly string[] {
  const latest = new Map<string, number>()
  return effects
    .filter((effect) => {
      const seen = latest.get(effect.turn) ?? 0
      latest.set(effect.turn, Math.max(seen, effect.attempt))
      return effect.attempt < seen || freezes.some((freeze) => isAfterSuccessor(effect, freeze, effects))
    })
    .map((effect) => `effect ${effect.connection}/${effect.id} of ${effect.pid}`)
}

function isAfterSuccessor(effect: Effect, freeze: Freeze, effects: readonly Effect[]): boolean {
  if (effect.pid !== freeze.pid || effect.startedAt > freeze.from || effect.at < freeze.to) return false
  return effects.some(
    (other) =>
      other.connection === effect.connection &&
      other.conversation === effect.conversation &&
      other.turn !== effect.turn &&
      other.at > freeze.from &&
      other.at < effect.at,
  )
}

/**
 * At the vendor: every try of a row carries its number, given out under the lease, and an earlier one must not come later;
 * nor may a call that was asked for before a freeze come after it, once another holder has called for that conversation.
 */
export function staleCalls(calls: readonly RecordedCall[], freezes: readonly Freeze[]): readonly string[] {
  const latest = new Map<string, number>()
  return calls
    .filter((call) => {
      const row = call.headers['x-crash-test-row'] ?? ''
      const number = Number(call.headers['x-crash-test-try'] ?? 0)
      const seen = latest.get(row) ?? 0
      latest.set(row, Math.max(seen, number))
      return row !== '' && (number < seen || freezes.some((freeze) => isCalledAfterSuccessor(call, freeze, calls)))
    })
    .map(({ headers }) => `call of row ${headers['x-crash-test-row']}, try ${headers['x-crash-test-try']}`)
}

function isCalledAfterSuccessor(call: RecordedCall, freeze: Freeze, calls: readonly RecordedCall[]): boolean {
  const pid = call.headers['x-crash-test-pid']
  const askedAt = Number(call.headers['x-crash-test-asked'])
  if (pid !== String(freeze.pid) || askedAt > freeze.from || call.at < freeze.to) return false
  return calls.some(
    (other) =>
      other.headers['x-crash-test-pid'] !== pid &&
      conversationOf(other) === conversationOf(call) &&
      other.at > freeze.from &&
      other.at < call.at,
  )
}

function conversationOf({ body }: RecordedCall): unknown {
  return typeof body === 'object' && body !== null && 'conversation' in body ? body.conversation : undefined
}
