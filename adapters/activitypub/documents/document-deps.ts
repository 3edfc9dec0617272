// Dependencies of the documents, and what the operator decides about how our agents are shown to other servers.
import type { AgentProfile, FileSource, Records } from '../../../src/contract/index.ts'
import type { ActorKeys } from '../signatures/own-keys.ts'
import type { OwnNotes } from './own-notes.ts'
import { type DocumentUrls, reservedSlugs } from './urls.ts'

export type DocumentSettings = {
  /** Who may follow: every account, those the operator accepts, or none. */
  readonly follow: 'accept' | 'manual' | 'reject'
  /** Whether directories may list the agents, and search engines of others their posts. */
  readonly isDiscoverable: boolean
  readonly isIndexable: boolean
  /** Agents that were here and never come back: others are told to forget them. */
  readonly retired: readonly string[]
  /** Square, 400 pixels or more. */
  readonly iconUrl?: string
  /** Who runs this, in a few words. */
  readonly operator?: string
  readonly sourceUrl?: string
  readonly privacyUrl?: string
  /** Where people can complain: an address they can write to. */
  readonly contact?: string
}

export type DocumentDeps = {
  readonly settings: DocumentSettings
  readonly places: DocumentUrls
  readonly agents: () => readonly AgentProfile[]
  readonly keys: ActorKeys
  readonly notes: OwnNotes
  readonly records: Records
  /** What is sent along with notes. */
  readonly files: FileSource | undefined
  /** Of this gateway. */
  readonly version: string
  /** The actor who proves by a signature that the request is theirs. Undefined: it is not signed. */
  readonly signerOf: (request: Request) => Promise<string | undefined>
}

export type AgentStatus =
  | { readonly kind: 'here'; readonly profile: AgentProfile }
  | { readonly kind: 'retired' | 'unknown' }

/** An agent that is merely not configured is unknown and not gone: other servers never take back a 410. */
export function agentStatus(
  { agents, settings }: Pick<DocumentDeps, 'agents' | 'settings'>,
  slug: string,
): AgentStatus {
  const profile = reservedSlugs.includes(slug) ? undefined : agents().find((each) => each.slug === slug)
  if (profile !== undefined) return { kind: 'here', profile }
  return { kind: settings.retired.includes(slug) ? 'retired' : 'unknown' }
}
