// Dependencies of the outgoing verbs: how to call, whose token, and what was learnt about live messages.
import type { TtlStore } from '../../../src/contract/index.ts'
import type { CallWebApi } from './call-slack.ts'
import type { OnTokenFailed, SlackTokenLookup } from './token-of.ts'

export type OutboundDeps = {
  readonly call: CallWebApi
  readonly tokenOf: SlackTokenLookup
  readonly tokenFailed: OnTokenFailed
  readonly live: LiveState
}

/** What this process has learnt; forgetting it costs a call, never a word. */
export type LiveState = {
  /** Installations without native streams, and those of which the notes were asked. */
  readonly withoutStreams: Set<string>
  readonly known: Set<string>
  readonly notes: TtlStore | undefined
  /** Messages that are no streams any more. */
  readonly ended: Set<string>
  /** Messages of which it is not known what they show: from here on they are written as a whole. */
  readonly doubtful: Set<string>
}

export function createLiveState(notes: TtlStore | undefined): LiveState {
  return { withoutStreams: new Set(), known: new Set(), notes, ended: new Set(), doubtful: new Set() }
}
