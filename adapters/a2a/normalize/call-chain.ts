// Reads `metadata.mentionable`: taken out before anything is kept, and judged apart. What a
// client may not say of itself, the resolution of a policy or what its own channel can do, is left out.
import type { JsonObject } from '../../../src/contract/index.ts'
import type { AgentChain } from '../protocol/caller.ts'
import { type Fields, isPlainObject } from '../protocol/field-reader.ts'

/** Keys that are judged, or that only we may set. The rest is the sender's own and stays. */
const taken = [
  'identity_evidence',
  'verifiable_credentials',
  'agent_chain',
  'policy_resolution',
  'recipient_capabilities',
]
const key = 'mentionable'

export type MentionableMetadata = {
  readonly metadata: JsonObject | undefined
  /** Evidence from another gateway, as it came. */
  readonly forwarded: unknown
  readonly chain: unknown
  /** What it says its own channel can do, for the check of the evidence. */
  readonly relay: unknown
  /** The message that it answers, as its sender says. */
  readonly inReplyTo: string | undefined
}

const nothing = { forwarded: undefined, chain: undefined, relay: undefined, inReplyTo: undefined }
const maxIdLength = 256

export function takeMentionable(metadata: JsonObject | undefined): MentionableMetadata {
  const carried = metadata?.[key]
  if (metadata === undefined || carried === undefined) return { metadata, ...nothing }
  const { [key]: _carried, ...rest } = metadata
  // What is not an object is no evidence either, and said to be none.
  if (!isPlainObject(carried)) return { metadata: metadataOrNone(rest), ...nothing, forwarded: carried }
  const own = Object.fromEntries(Object.entries(carried).filter(([name]) => !taken.includes(name)))
  const kept = Object.keys(own).length === 0 ? rest : { ...rest, [key]: own }
  const { identity_evidence: forwarded, agent_chain: chain, recipient_capabilities: can, in_reply_to: parent } = carried
  const relay = isPlainObject(can) ? can['mention_relay'] : undefined
  const isId = typeof parent === 'string' && parent !== '' && parent.length <= maxIdLength
  return { metadata: metadataOrNone(kept), forwarded, chain, relay, inReplyTo: isId ? parent : undefined }
}

function metadataOrNone(metadata: Fields): JsonObject | undefined {
  // A part of what came as JSON.
  return Object.keys(metadata).length === 0 ? undefined : (metadata as JsonObject)
}

export type CallChainResult =
  | { readonly ok: true; readonly chain: AgentChain | undefined }
  | { readonly ok: false; readonly problem: string }

const ceiling = 4

/** Headers and metadata may both tell how far the chain has come: the larger depth and the smaller ceiling count. */
export function readCallChain(claimed: unknown, byHeaders: AgentChain | undefined): CallChainResult {
  if (claimed === undefined || claimed === null) return { ok: true, chain: byHeaders }
  if (!isChain(claimed)) return { ok: false, problem: 'must be { hop, max_hops, is_final } that agree with each other' }
  const hop = Math.max(claimed.hop, byHeaders?.hop ?? 0)
  const max_hops = Math.min(claimed.max_hops, byHeaders?.max_hops ?? ceiling, ceiling)
  if (hop > max_hops) return { ok: false, problem: `must not have more than ${max_hops} hops` }
  return { ok: true, chain: { hop, max_hops, is_final: hop === max_hops } }
}

function isChain(value: unknown): value is AgentChain {
  if (!isPlainObject(value)) return false
  const { hop, max_hops, is_final } = value
  const areWhole = Number.isSafeInteger(hop) && Number.isSafeInteger(max_hops)
  return areWhole && Number(hop) >= 1 && Number(hop) <= Number(max_hops) && is_final === (hop === max_hops)
}
