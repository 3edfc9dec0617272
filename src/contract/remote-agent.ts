// The port of an agent that answers from elsewhere, and what every run of an agent is given.

import type { ErrorSource } from '../lib/errors.ts'
import type { Fields, Json, JsonObject } from '../lib/json-value.ts'
import type { SafeFetch } from '../lib/safe-fetch-port.ts'
import type { SourcedFile } from './channel.ts'
import type { IdentityEvidence } from './evidence.ts'
import type { NormalizedMessage } from './message.ts'
import type { Part } from './parts.ts'
import type { NormalizedResponse } from './response.ts'

/** What an agent may return: plain text, parts, or a whole response. Nothing means: say nothing. */
export type AgentReply = string | undefined | Partial<NormalizedResponse> | { readonly parts: readonly Part[] }

export type StepOptions = {
  /** The effect may safely run twice; it is given `key` to tell the other side so. */
  readonly idempotent?: boolean
  /** What the step depends on; the same step with other arguments is another step. */
  readonly args?: Json
  /** What people are told it is, should the turn break off after it; its name where there is none. */
  readonly label?: string
  /**
   * False: it changes nothing outside, so it may run again until its result is stored. A turn that took no effect may still be
   * split, and hears of an edit.
   */
  readonly effect?: boolean
}

export type StepContext = {
  /** The same on every try of this step. */
  readonly key: string
  readonly signal: AbortSignal
  /** The fetch to act with: nothing leaves once this turn has lost its lease, not even after a pause of the process. */
  readonly fetch: typeof fetch
  /** For effects that need no `fetch`: throws when this turn has lost its lease. Ask right before acting. */
  readonly assertHeld: () => void
  /** It wanted to send something with `fetch`, and not one byte has left. */
  readonly isUnsent: () => boolean
}

/** The files of a conversation, by the id in `part.attachment`. Undefined: gone, or not of this conversation. */
export type AgentFiles = {
  readonly open: (id: string) => Promise<SourcedFile | undefined>
  /** The whole of it in memory; throws where it has more than `maxBytes`. */
  readonly bytes: (id: string, maxBytes: number) => Promise<Uint8Array | undefined>
}

/** What every run of an agent is given, also of one that answers from elsewhere. */
export type RunContext = {
  readonly agent: string
  readonly evidence: readonly IdentityEvidence[]
  /** Parts name them and carry a handle that is good for a minute; these are good for as long as the turn runs. */
  readonly attachments: AgentFiles
  /** Aborts when this turn must stop: lease lost, deadline, shutdown. */
  readonly signal: AbortSignal
  /**
   * Aborts when a person or an operator stopped this run. For model calls and waiting; a step in flight is never broken off by it, and the
   * next step does not begin: it throws `run_cancelled`, which ends the run as cancelled.
   */
  readonly stop: AbortSignal
  /** Journaled work: done once, also when the process dies in the middle. */
  readonly step: <T extends Json>(
    name: string,
    work: (context: StepContext) => Promise<T>,
    options?: StepOptions,
  ) => Promise<T>
  /** The answer as it grows, for clients that watch the run; the answer itself is what is returned. */
  readonly show: (delta: string) => void
  /** An event for clients that watch this run. Its metadata is stored: no secrets. */
  readonly emit: (type: string, metadata: Fields) => void
  /**
   * Tells operators of an error that the agent goes on after. Message and stack are kept with the turn; people and models are not told.
   * What an agent throws is kept without it.
   */
  readonly report: (error: unknown, source?: ErrorSource) => void
}

/** Access to agents outside this gateway. Nothing leaves through either fetch once this turn has lost its lease. */
export type RemoteAccess = {
  /** For origins that the operator wrote down. */
  readonly fetch: typeof fetch
  /** For addresses that another party named. */
  readonly guarded: SafeFetch
  /** What was proven about the sender, signed for the agent at this address and for this message alone. */
  readonly attest: (
    evidence: readonly IdentityEvidence[],
    to: { readonly audience: string; readonly messageId: string },
  ) => Promise<readonly JsonObject[]>
  /** Where the card of `address` is, by what its own server says about it (WebFinger). */
  readonly cardIn: (document: unknown, address: string) => string | undefined
}

/** Our place in a chain of agents, as the next one is told it. */
export type RemoteHop = {
  readonly headers: Readonly<Record<string, string>>
  /** For those that read it in the message itself. */
  readonly chain: JsonObject
}

/** What a conversation remembers of a remote agent. Stored with the turn that came to it, erased with the session, shown to no model. */
export type RemoteMemory = { readonly [key: string]: Json; readonly isWaiting: boolean }

/** What a remote agent is given for one call, which comes only where the chain of agents may go on. */
export type RemoteCallContext = RunContext & {
  readonly remoteCaller: RemoteAccess
  readonly hop: RemoteHop
  /** The newest memory of this agent here. */
  readonly remembered: JsonObject | undefined
  readonly remember: (memory: RemoteMemory) => void
  /** Whether what its asker may use is used up; absent where a person asked. */
  readonly isSpent?: () => boolean
}

/**
 * An agent that answers from elsewhere: `model` of defineAgent. Its calls are journaled in three steps, `remote agent` (whom it asks
 * under which ids), `remote message` (asked) and `remote answer`, so that one that was left behind can be cancelled.
 */
export type RemoteAgent = {
  /** It is an agent by itself and no model for the loop. */
  readonly isAgent: true
  /** Whom it asks, where that has an address: it never asks itself. */
  readonly address?: string
  readonly run: (message: NormalizedMessage, context: RemoteCallContext) => Promise<AgentReply>
  /**
   * Cancels a call whose run was stopped while no process was there to tell it: `opened` and `asked` are the results of its first two
   * steps, the second undefined where it has no end. Fails where it cannot be told. One that never heard of it has nothing to be told.
   */
  readonly cancel: (
    left: { readonly opened: unknown; readonly asked: unknown },
    access: Pick<RemoteAccess, 'fetch' | 'guarded'> & Pick<RemoteHop, 'headers'> & { readonly signal: AbortSignal },
  ) => Promise<void>
}
