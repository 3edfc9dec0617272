// The key that a signature names, its owner, and the signature against it. A key that does not fit is fetched anew once: its
// owner may have changed it. Not twice within a minute: else a sender of forgeries has us ask their victim.
import type { RemoteActor, RemoteKey } from '../wire/actor.ts'
import type { SignatureJudgement } from './check-signature.ts'
import { iriHost } from './hosts.ts'
import type { KeyAnswer, KeySource } from './key-source.ts'
import { type Checked, checkedValue, type RejectedSignature, rejectSignature } from './refusal.ts'

const brakeMs = 60_000
const maxBraked = 1000

/** Whether a key is the one that signed. */
export type Judge = (key: RemoteKey) => Promise<SignatureJudgement>

export interface KeyVerifier {
  ask(keyId: string, actor: string, judge: Judge): Promise<Checked<RemoteActor>>
}

export function createKeyVerifier(keys: KeySource, now: () => number): KeyVerifier {
  const refreshedAt = new Map<string, number>()
  const mayRefresh = (keyId: string, answer: KeyAnswer): boolean => {
    const last = refreshedAt.get(keyId)
    if (last !== undefined && now() - last < brakeMs) return false
    // A fresh key would be the same.
    const fetchedAt = answer.kind === 'found' ? Date.parse(answer.actor.fetchedAt) : Number.NaN
    if (now() - fetchedAt < brakeMs) return false
    refreshedAt.delete(keyId)
    const oldest = refreshedAt.size >= maxBraked ? refreshedAt.keys().next().value : undefined
    if (oldest !== undefined) refreshedAt.delete(oldest)
    refreshedAt.set(keyId, now())
    return true
  }
  return {
    async ask(keyId, actor, judge) {
      // No server is asked for a key that could not be this actor's anyway.
      const host = iriHost(keyId)
      if (host === undefined || host !== iriHost(actor)) return rejectSignature('key_elsewhere')
      const answer = await keys.find(keyId)
      const first = await checkKeyAnswer(answer, actor, judge)
      if (first.kind === 'passed' || answer.kind !== 'found' || !mayRefresh(keyId, answer)) return first
      const fresh = await keys.refresh(keyId)
      // A server that is down tells nothing new about the signature.
      return fresh.kind === 'unreachable' ? first : checkKeyAnswer(fresh, actor, judge)
    },
  }
}

async function checkKeyAnswer(answer: KeyAnswer, actor: string, judge: Judge): Promise<Checked<RemoteActor>> {
  if (answer.kind !== 'found') return rejectMissingKey(answer)
  const { key, actor: owner } = answer
  if (key.owner !== actor || owner.id !== actor) return rejectSignature('not_the_owner')
  const judgement = await judge(key)
  if (judgement === 'right') return checkedValue(owner)
  return rejectSignature(judgement === 'wrong' ? 'wrong_signature' : judgement)
}

function rejectMissingKey({ kind }: Exclude<KeyAnswer, { kind: 'found' }>): RejectedSignature {
  switch (kind) {
    case 'gone':
      return rejectSignature('key_gone')
    case 'unreachable':
      return rejectSignature('key_unreachable')
    case 'refused':
      return rejectSignature('key_refused')
  }
}
