// Inbound events: the raw request, and what an adapter read in it.

import type { JsonObject } from '../lib/json-value.ts'
import type { CallerContext } from './caller.ts'
import type { RecipientCapabilities } from './capabilities.ts'
import type { NormalizedMessage } from './message.ts'
import type { ProtocolReply, RecordWrite } from './records.ts'
import type { TaskClaim } from './tasks.ts'

/**
 * Where a request came from. `local`: the socket of the data folder, which this machine's user alone can open. `guest`: a port of this
 * machine, on a gateway that has no other address; it may speak where speaking is public. `remote`: anywhere else, or not known.
 */
export type RequestSource = 'local' | 'guest' | 'remote'

/** What came in, before it is verified. */
export type RawRequest = {
  readonly bytes: Uint8Array
  /** By their names in small letters. */
  readonly headers: Readonly<Record<string, string>>
  /** ISO 8601, by the clock of the gateway. */
  readonly receivedAt: string
  readonly from: RequestSource
}

/** The same before its body is read. */
export type RequestHead = Omit<RawRequest, 'bytes'>

/** What a row knows about an earlier event and its body does not say. */
export type StoredEventFacts = {
  readonly subject: string | null
  readonly caller?: CallerContext | undefined
  readonly agentChain?: RecipientCapabilities['agent_chain']
}

/** Facts about the connection an inbound event belongs to; normalize gets them as data and so stays pure. */
export type Connection = {
  readonly tenant: string
  /** Its name in the configuration, and in the address of its webhook. */
  readonly id: string
  /** Slug of the agent that answers here. */
  readonly agent: string
  /** Domain of the addresses we mint for this connection's people and agents. */
  readonly domain: string
}

/** Threads a message asks to join. `platformVerified`: the platform itself says so; otherwise the sender merely claims it. */
export type ThreadClaim = {
  /** Names under which the conversation may be known already, the best first. */
  readonly candidates: readonly string[]
  readonly platformVerified: boolean
  /** Conversation to open when no candidate may be joined. */
  readonly newThreadKey: string
  readonly replyToken?: string
  /** Names under which the conversation is found from now on, too, whether it was joined or opened. */
  readonly aliases?: readonly string[]
}

/**
 * A proof that counts once: a signature, a nonce. It is claimed by the commit that stores what it came with, and for so long after it
 * by the database's clock; what comes with it again, under whatever id, is a duplicate.
 *
 * `key` begins with the name of the channel and names the proof whatever way it is written: `slack:v0=…`. Of the whole tenant: a
 * proof that counts once for each agent has the agent in its key.
 */
export type OnceClaim = { readonly key: string; readonly forMs: number }

/** Bytes of an inbound event that may be kept beside its row, by the name `RawBlobs.nameOf` gave them. */
export type PendingBlob = {
  readonly ref: string
  readonly id: string
  readonly mime: string
  readonly bytes: Uint8Array
}

/** What a sender who is not admitted is asked to send again once they are; `files` by the names they gave them. */
export type OmittedContent = {
  readonly files: readonly string[]
  readonly more_files: number
  readonly is_text_cut: boolean
}

/** A message with what accept needs to claim it once and queue it in its conversation. */
export type InboundMessage = {
  readonly kind: 'message'
  /** What the agent reads. */
  readonly message: NormalizedMessage
  /** Slug of the agent it is for: `connection.agent`, unless the request names another. */
  readonly agent: string
  /** The address it was sent to names the agent: no agent that its words name answers instead. */
  readonly isAddressed?: boolean
  /** The platform's identity of this message, the same for every delivery and twin event of it. */
  readonly semanticId: string
  /** `0` for a new message. What differs between two edits of one, such as the time of the edit: each version counts once. */
  readonly version: string
  /** True where the sender picks the id, so that it must not collide with another sender's. */
  readonly isSenderChosenId: boolean
  /** The id alone says which message it is: another body under it is the same message, which the comparison reports. */
  readonly isOnceById?: boolean
  /** The id counts whichever agent it is for: with another one it is the same message. */
  readonly isIdForAllAgents?: boolean
  /** The platform's id of this delivery, by which an operator can ask for it. */
  readonly deliveryId?: string
  /** What proves it, where that counts once. */
  readonly once?: readonly OnceClaim[]
  /** Who sent it: `<channel>:<the platform's id of the sender>`, as in the evidence. */
  readonly subject?: string
  /** Evidence another gateway attached, as it came. The sender names how that gateway was recognised, not `none`. */
  readonly forwarded?: unknown
  /** How that gateway says names in a reply travel, as it came; counts where its evidence does. */
  readonly relay?: unknown
  readonly thread: ThreadClaim
  /**
   * Where the answer goes: all that `render` is told of the place. Fields called `reply_to_…` say which message it answers and do not
   * make another place: a token that answers one message is `reply_to_token`. Of these,
   * `reply_to_as_…` say how it wants to be answered: what wants another manner is answered apart, and an edit that comes in time
   * changes them, and nothing else of it.
   */
  readonly replyTo: JsonObject
  /** Set where the message wants an answer of its own and must not be merged: a command, a click, a run, a task. */
  readonly mustReplyIndividually?: string
  /** More that belongs to it may follow within this time: a conversation that is idle waits so long before it takes a turn. */
  readonly debounceMs?: number
  /** Refuse instead of queueing behind a busy conversation. */
  readonly isExclusive?: boolean
  /** It asks for a task, or goes on with one; the task is stored with it. */
  readonly task?: TaskClaim
  /** What `ChannelDeps.originals` kept for it: it stays as long as the message does, and is erased with it. */
  readonly rawBlobs?: readonly string[]
  /** An original that is kept only where its sender is admitted; its parts refer to it already. */
  readonly pendingBlob?: PendingBlob
  /** Set by the core: what is not kept because its sender is not admitted. */
  readonly omitted?: OmittedContent
  /** What it changes in the channel's records. */
  readonly recordWrites?: readonly RecordWrite[]
  /** When the platform says it was sent (ISO 8601). Older than `capabilities.horizonMs`, it is stale and not answered. */
  readonly platformAt?: string
}

/** An authenticated event that asks for nothing. Noise is on the adapter's closed list and leaves no row. */
export type IgnoredEvent = {
  readonly kind: 'ignored'
  /** A code; `own_message` for what the bot itself said. */
  readonly reason: string
  readonly isNoise: boolean
  /** The platform's id of this delivery: it is told apart by that alone. */
  readonly deliveryId: string
  /** What proves it, where that counts once. Noise claims nothing. */
  readonly once?: readonly OnceClaim[]
  /** Whose it is, where its delivery proves that: so that it can be erased with them. */
  readonly subject?: string | undefined
  /** The platform says that a thread goes by another name from now on: what comes under it joins the same conversation. */
  readonly renamed?: { readonly from: string; readonly to: string }
  /** The platform says that a place takes nothing more from us, or takes it again. */
  readonly roomStatus?: RoomStatusChange
  /** A server on the way says what became of something that we sent. */
  readonly bounce?: Bounce
  /** What it changes in the channel's records. */
  readonly recordWrites?: readonly RecordWrite[]
  /** What its protocol answers it with. */
  readonly protocolReplies?: readonly ProtocolReply[]
  /** The receiver wants nothing more from us: what waits to be sent there ends as refused, `blocked`. */
  readonly cancelPending?: { readonly orderKeyPrefix: string }
  /** An operator should look at it: the log warns of it once. */
  readonly isForOperator?: boolean
  /**
   * Its sender has left the platform: what they said and were told on this connection before is erased in the background.
   * Needs `subject`, and a proof that it is theirs to say.
   */
  readonly isAccountDeleted?: boolean
  /** A person opened a conversation and has said nothing yet: where they could be offered something. */
  readonly opened?: JsonObject
  /** The payload as it came. */
  readonly raw: unknown
}

/** `place` is the adapter's own name for it; `closed` why nothing can be sent there, null where it can; `at` the platform's time. */
export type RoomStatusChange = { readonly room: string; readonly closed: string | null; readonly at: string }

/** `clientId`: of the delivery that it is about; an unknown one is ignored. `reason`: a code. `at`: when it was said. */
export type Bounce = {
  readonly clientId: string
  readonly kind: 'failed' | 'delayed'
  readonly reason: string
  readonly at: string
}

export type InboundEvent = InboundMessage | IgnoredEvent
