// What the outgoing verbs share: how to call, whose token, and what was learnt about live messages.
import type { CallSlack } from './call-slack.ts'
import type { TokenOf } from './token-of.ts'

export type SlackPorts = {
  readonly call: CallSlack
  readonly tokenOf: TokenOf
  readonly live: LiveState
}

/** What this process has learnt; forgetting it costs a call, never a word. */
export type LiveState = {
  /** Installations without native streams. */
  readonly withoutStreams: Set<string>
  /** Messages that are no streams any more. */
  readonly ended: Set<string>
  /** Messages of which it is not known what they show: from here on they are written as a whole. */
  readonly doubtful: Set<string>
}

export function createLiveState(): LiveState {
  return { withoutStreams: new Set(), ended: new Set(), doubtful: new Set() }
}
